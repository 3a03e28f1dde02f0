// What the page draws: the front of a study, which the server draws as in the report, and the windows of a measurement.

/** The minimum time between drawings of a chart, for studies that measure fast. */
const CHART_PAUSE_MS = 2000;
const CHART_LIMIT_MS = 15000;

/** Returns the chart of a study, which is fetched after each change, one at a time. */
function frontFigure(study) {
  const place = make('div', {});
  const words = make('figcaption', { 'aria-live': 'polite' }, frontWords);
  const element = make('figure', { class: 'front' }, place, words);
  element.hidden = true;
  let wanted = null;
  let shown = null;
  const fetchNext = oneAtATime(CHART_PAUSE_MS, async () => {
    if (wanted === null || (shown !== null && wanted <= shown)) return;
    const paper = element.parentElement.clientWidth < 560 ? 'narrow' : 'wide';
    const reply = await fetch(`studies/${encodeURIComponent(study)}/front.svg?paper=${paper}`, {
      signal: AbortSignal.timeout(CHART_LIMIT_MS),
    });
    if (!reply.ok) return;
    place.replaceChildren(chartOf(await reply.text(), words));
    element.hidden = false;
    // The server may return an older chart if drawing takes long.
    shown = Number(reply.headers.get('tritune-records'));
    if (wanted > shown) fetchNext();
  });
  return {
    element,
    show(chart) {
      // Another study has replaced this one.
      if (chart !== null && chart < shown) shown = null;
      wanted = chart;
      fetchNext();
    },
  };
}

const frontWords =
  'Each mark is a trial at one load level; the line joins those that nothing beats in both. Point at one, or go there with the Tab key.';

/** The drawing as elements of this page. Its links lead nowhere here: they tell what they are of. */
function chartOf(text, words) {
  const drawing = new DOMParser().parseFromString(text, 'image/svg+xml').documentElement;
  const svg = document.importNode(drawing, true);
  for (const link of svg.querySelectorAll('a')) {
    const tell = () => {
      words.textContent = link.getAttribute('aria-label');
    };
    link.addEventListener('pointerenter', tell);
    link.addEventListener('focus', tell);
    link.addEventListener('click', (event) => event.preventDefault());
  }
  return svg;
}

/** Draws a bar for each window of a measurement, relative to the highest throughput. */
function sparkOf(windows) {
  if (windows.length === 0) return [];
  const [width, height, most] = [40, 10, Math.max(...windows, Number.MIN_VALUE)];
  const svg = document.createElementNS(svgNames, 'svg');
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', `${windows.length} windows`);
  const step = width / Math.max(10, windows.length);
  for (const [at, value] of windows.entries()) {
    const tall = (height * value) / most;
    draw(svg, 'rect', { x: at * step, y: height - tall, width: step * 0.8, height: tall });
  }
  return [svg];
}
