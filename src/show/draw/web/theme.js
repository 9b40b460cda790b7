// Light and dark: the system's choice until the reader switches. Colours are variables of theme.css.
import {element} from './dom.js';

const kThemeKey = 'nadi-theme';
const kThemeListeners = [];

/** Calls `listener` when colours change. @param {() => void} listener */
export function onThemeChange(listener) {
  kThemeListeners.push(listener);
}

/** The value of a colour of theme.css: themeColor('compute'). @param {string} name */
export function themeColor(name) {
  return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
}

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
}

export function toggleTheme() {
  const theme = isDark() ? 'light' : 'dark';
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(kThemeKey, theme);
  } catch {
    // Pages from a disk may have no storage: the choice then lasts as long as the page.
  }
  for (const listener of kThemeListeners) listener();
}

/** Takes up the choice made before. Call it once, before anything is drawn. */
export function startTheme() {
  try {
    const theme = localStorage.getItem(kThemeKey);
    if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme;
  } catch {
    // See toggleTheme().
  }
  const tell = () => kThemeListeners.forEach((listener) => listener());
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', tell);
  // Paper is light: what is drawn on a canvas has to be drawn again for it.
  let before = '';
  addEventListener('beforeprint', () => {
    before = document.documentElement.dataset.theme ?? '';
    document.documentElement.dataset.theme = 'light';
    tell();
  });
  addEventListener('afterprint', () => {
    if (before) document.documentElement.dataset.theme = before;
    else delete document.documentElement.dataset.theme;
    tell();
  });
}

export function themeButton() {
  return element('button', {class: 'tool', type: 'button', id: 'theme', title: 'Light or dark (T)', onclick: toggleTheme},
      'Light / dark');
}
