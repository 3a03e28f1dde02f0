// The tables of a study: who tries what, trials, and failures.

/** Shows a table, below its title if it has one; nothing without rows. */
function showTable(place, { title, name, heads, rows }) {
  if (rows.length === 0) {
    place.replaceChildren();
    return;
  }
  const head = make('thead', {}, make('tr', {}, ...heads.map((text) => make('th', { scope: 'col' }, text))));
  const table = make('table', { class: name }, head, make('tbody', {}, ...rows));
  place.replaceChildren(...(title === undefined ? [] : [make('h3', {}, title)]), table);
}

const cell = (text, name) => make('td', name ? { class: name } : {}, text);

function showServers(place, servers, { server }) {
  const shown = servers.filter((row) => server === '' || row.server === server);
  const hasSpeeds = servers.some(({ speed }) => speed !== '');
  const hasWork = servers.some(({ what }) => what !== '');
  const rows = shown.map((row) => {
    const figures = [row.level, row.figures].filter(Boolean).join(', ');
    const work = [
      ...[cell(row.what, 'what'), cell(row.config, 'config'), cell(figures, 'readings')],
      make('td', { class: 'spark' }, ...sparkOf(row.windows)),
    ];
    return make(
      'tr',
      {},
      make('th', { scope: 'row' }, row.server),
      cell([row.state, row.note].filter(Boolean).join(': '), `is-${row.state.replaceAll(' ', '-')}`),
      ...(hasWork ? work : []),
      cell(String(row.done), 'done'),
      ...(hasSpeeds ? [cell(row.speed)] : []),
    );
  });
  const heads = [
    ...['server', 'state', ...(hasWork ? ['tries', 'config', 'last window', 'windows'] : [])],
    ...['trials', ...(hasSpeeds ? ['speed'] : [])],
  ];
  showTable(place, { title: 'Servers', name: 'servers', heads, rows });
}

/** Shows trials, the latest first. */
function showTrials(place, trials) {
  const hasServers = trials.some(({ server }) => server !== '');
  const rows = trials.map((row) =>
    make(
      'tr',
      {},
      cell(String(row.trial)),
      ...(hasServers ? [cell(row.server)] : []),
      cell(row.config, 'config'),
      cell(row.failure === '' ? row.figures : row.failure, 'readings'),
      cell(row.standingText, `is-${row.standing}`),
    ),
  );
  const heads = ['trial', ...(hasServers ? ['server'] : []), 'config', 'figures', ''];
  showTable(place, { name: 'latest', heads, rows });
}

function showFailures(place, failures, { server, failure }) {
  const rows = failures
    .filter((row) => (server === '' || row.server === server) && (failure === '' || isFailure(row.kind, failure)))
    .map(({ what, kind, reason }) => make('tr', { class: 'failed' }, cell(what), cell(kind), cell(reason, 'reason')));
  showTable(place, { title: 'Failures', name: 'failures', heads: ['what', 'kind', 'why'], rows });
}
