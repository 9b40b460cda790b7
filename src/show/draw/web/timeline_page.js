// The page of a timeline.
import {pageHead} from './page_data.js';
import {openShell, showFailure} from './shell.js';
import {TimelineData} from './timeline_data.js';
import {TimelineFrame} from './timeline_frame.js';

async function startTimeline() {
  try {
    const data = new TimelineData(pageHead());
    await data.load();
    const page = new TimelineFrame(data, openShell(data.head));
    // For tests and the console.
    globalThis.nadiTimeline = page;
    requestAnimationFrame(() => requestAnimationFrame(() => {
      performance.mark('nadi-painted');
      document.documentElement.dataset.ready = 'true';
      if (data.head.links > 0) setTimeout(() => page.loadFlows(), 50);
    }));
  } catch (error) {
    showFailure(error);
    document.documentElement.dataset.ready = 'failed';
  }
}

startTimeline();
