// Walking from event to event with the arrow keys.

/** @typedef {import('./timeline_chart.js').TimelineChart} TimelineChart */

/**
 * Actions of the arrow keys.
 * @param {TimelineChart} chart
 * @param {(event: number) => void} go
 * @returns {Object<string, () => void>}
 */
export function listenToWalking(chart, go) {
  const {data} = chart;

  const along = (step) => {
    if (chart.selected === null) {
      start();
      return;
    }
    const track = data.tracks[data.trackOf(chart.selected)];
    const next = chart.selected + step;
    if (next >= track.begin && next < track.end) go(next);
  };

  const start = () => {
    for (const line of chart.layout.lines) {
      for (const number of line.tracks) {
        const track = data.tracks[number];
        const event = Math.min(data.firstEndingAfter(track, chart.begin), track.end - 1);
        if (event >= track.begin) {
          go(event);
          return;
        }
      }
    }
  };

  const across = (step) => {
    if (chart.selected === null) {
      start();
      return;
    }
    const middle = data.starts[chart.selected] + data.durations[chart.selected] / 2;
    const {lines, lineOfTrack} = chart.layout;
    for (let i = lineOfTrack[data.trackOf(chart.selected)] + step; i >= 0 && i < lines.length; i += step) {
      for (const number of lines[i].tracks) {
        const track = data.tracks[number];
        if (track.begin === track.end) continue;
        go(Math.min(data.firstEndingAfter(track, middle), track.end - 1));
        return;
      }
    }
  };

  return {
    ArrowLeft: () => along(-1),
    ArrowRight: () => along(1),
    ArrowUp: () => across(-1),
    ArrowDown: () => across(1),
  };
}
