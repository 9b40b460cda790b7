// The page of a timeline.
import {pageHead} from './page_data.js';
import {openShell, showFailure} from './shell.js';

try {
  const head = pageHead();
  openShell(head);
} catch (error) {
  showFailure(error);
}
