// The points of the front's chart: what the page tells of one elsewhere, shown beside the chart.

function followPoints() {
  const panel = byId('point');
  const links = [...document.querySelectorAll('#front svg a')];
  if (!panel || links.length === 0) return;
  const show = (link) => {
    for (const other of links)
      other.classList.toggle('shown', other.getAttribute('href') === link.getAttribute('href'));
    panel.replaceChildren(...panelOf(link));
    panel.hidden = false;
  };
  for (const link of links) {
    link.addEventListener('pointerenter', () => show(link));
    link.addEventListener('focus', () => show(link));
    link.addEventListener('click', (event) => {
      event.preventDefault();
      show(link);
    });
  }
  window.addEventListener('hashchange', openTarget);
  openTarget();
  const best = links.find((link) => link.getAttribute('href') === panel.dataset.start);
  if (best) show(best);
}

/** Opens the closed trial around a row, so that a link to the row works. */
function openTarget() {
  const target = location.hash.length > 1 ? byId(decodeURIComponent(location.hash.slice(1))) : null;
  const card = target?.closest('details');
  if (!card) return;
  card.open = true;
  target.scrollIntoView({ block: 'nearest' });
}

function panelOf(link) {
  const row = byId(link.getAttribute('href').slice(1));
  const card = row.closest('details');
  const heads = [...row.closest('table').querySelectorAll('th')].map((cell) => cell.textContent);
  const list = make('dl', {});
  for (const [index, cell] of [...row.cells].entries()) {
    if (cell.textContent === '') continue;
    const place = heads[index] === 'notes' ? { class: 'wide' } : {};
    list.append(make('div', place, make('dt', {}, heads[index]), make('dd', {}, cell.textContent)));
  }
  const all = make('a', { href: `#${card.id}` }, 'all levels of this trial');
  return [
    make('h3', {}, link.getAttribute('aria-label')),
    card.querySelector('.diff').cloneNode(true),
    ...splitOf(row, heads),
    list,
    make('p', { class: 'soft' }, all),
  ];
}

const splitColours = { 'queue, ms': '#e08a1e', 'compute, ms': '#2f7ed8', 'outside, ms': '#999fa8' };

/** Returns a bar of where the time went, with its description. */
function splitOf(row, heads) {
  const parts = Object.entries(splitColours).map(([head, colour]) => {
    const ms = Number(row.cells[heads.indexOf(head)].textContent.replaceAll(',', ''));
    return { head, colour, ms };
  });
  const whole = parts.reduce((sum, { ms }) => sum + ms, 0);
  if (!(whole > 0)) return [];
  const bar = make('div', { class: 'split', 'aria-hidden': 'true' });
  for (const { head, colour, ms } of parts) {
    bar.append(make('span', { style: `width:${(100 * ms) / whole}%;background:${colour}`, title: `${head}: ${ms}` }));
  }
  const words = parts.map(({ head, ms }) => `${head.split(',')[0]} ${Math.round((100 * ms) / whole)} %`).join(' · ');
  return [bar, make('p', { class: 'soft' }, words)];
}
