// One study on the page: what is built once, and what each view of it changes.

function studySection(name) {
  const parts = {
    title: make('span', {}, name),
    about: make('small', {}),
    standing: make('dl', { class: 'standing' }),
    notice: make('p', { class: 'notice' }),
    bar: make('progress', { max: '1' }),
    progress: make('p', { class: 'soft' }),
    servers: make('div', { class: 'scroll' }),
    trials: make('div', { class: 'scroll' }),
    failures: make('div', { class: 'scroll' }),
  };
  const front = frontFigure(name);
  const orders = ordersOf(name);
  const body = make(
    'div',
    {},
    ...[parts.notice, parts.standing, parts.bar, parts.progress, orders.element, parts.servers, front.element],
    ...[parts.trials, parts.failures],
  );
  const element = make('details', { class: 'study' }, make('summary', {}, parts.title, ' ', parts.about), body);
  let last = null;
  let shownMs = 0;
  let wasOpened = false;
  element.addEventListener('toggle', () => {
    if (element.open && last) front.show(last.chart);
  });
  body.hidden = true;
  return {
    element,
    showHead(head, canSteer) {
      if (!last) parts.about.textContent = [head.status, groupText(head), sinceText(head)].filter(Boolean).join(', ');
      orders.show(canSteer && head.status === 'under way' && !isOver(last));
    },
    show(view, canSteer) {
      last = view;
      shownMs = performance.now();
      // Opens a study under way, unless a person has closed it.
      if (!wasOpened) element.open = view.status === 'under way';
      wasOpened = true;
      body.hidden = false;
      parts.about.textContent = [view.phase, view.model, groupText(view)].filter(Boolean).join(', ');
      showStanding(parts, view);
      showProgress(parts, view, 0);
      orders.show(canSteer && view.status === 'under way' && !isOver(view));
      showServers(parts.servers, view.servers);
      showTrials(parts.trials, view.trials);
      showFailures(parts.failures, view.failures);
      if (element.open) front.show(view.chart);
    },
    /** Advances the time between two views. */
    tick() {
      if (last?.progress.isRunning) showProgress(parts, last, (performance.now() - shownMs) / 1000);
    },
  };
}

const isOver = (view) => view?.phase.startsWith('ended: ') ?? false;

const groupText = ({ group }) => (group === null ? '' : `group ${group}`);

const sinceText = ({ startedAt }) => (startedAt === null ? '' : `since ${new Date(startedAt).toLocaleString()}`);

function showStanding({ standing, notice }, view) {
  const facts = [
    ['goal', view.goal],
    ['server', view.servers.length > 1 ? '' : view.server],
    [isOver(view) ? 'best' : 'best so far', view.best, 'now'],
    ['original', view.original],
  ].filter(([, text]) => text !== '');
  standing.replaceChildren(
    ...facts.flatMap(([name, text, mark]) => [make('dt', {}, name), make('dd', mark ? { class: mark } : {}, text)]),
  );
  notice.hidden = view.notice === '';
  notice.textContent = view.notice;
}

function showProgress({ bar, progress }, view, passedSeconds) {
  const { done, failed, maxTrials, share, elapsedSeconds, secondsLeft } = view.progress;
  bar.hidden = share === null || view.status !== 'under way' || isOver(view);
  if (share !== null) bar.value = Math.min(1, share);
  const of = maxTrials === null || done > maxTrials ? '' : ` of ${maxTrials}`;
  const left = secondsLeft === null ? 0 : secondsLeft - passedSeconds;
  progress.textContent = [
    `${done}${of} ${done === 1 && of === '' ? 'trial' : 'trials'}`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    durationText(elapsedSeconds + passedSeconds),
    ...(left >= 1 ? [`about ${durationText(left)} left`] : []),
  ].join(' · ');
}

/** 12 s, 3 min 20 s, 2 h 5 min. */
function durationText(seconds) {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const [large, unit, small, smallUnit] =
    whole < 3600
      ? [Math.floor(whole / 60), 'min', whole % 60, 's']
      : [Math.floor(whole / 3600), 'h', Math.floor((whole % 3600) / 60), 'min'];
  return small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${smallUnit}`;
}

/** Shows a table with a caption above it; nothing without rows. */
function showTable(place, { title, name, heads, rows }) {
  if (rows.length === 0) {
    place.replaceChildren();
    return;
  }
  const head = make('thead', {}, make('tr', {}, ...heads.map((text) => make('th', { scope: 'col' }, text))));
  place.replaceChildren(make('h3', {}, title), make('table', { class: name }, head, make('tbody', {}, ...rows)));
}

const cell = (text, name) => make('td', name ? { class: name } : {}, text);

function showServers(place, servers) {
  const hasSpeeds = servers.some(({ speed }) => speed !== '');
  const hasWork = servers.some(({ what }) => what !== '');
  const rows = servers.map((row) => {
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
  showTable(place, { title: hasWork ? 'Who tries what' : 'Servers', name: 'servers', heads, rows });
}

function showTrials(place, trials) {
  const hasServers = trials.some(({ server }) => server !== '');
  const rows = trials.map((row) =>
    make(
      'tr',
      {},
      cell(String(row.trial)),
      ...(hasServers ? [cell(row.server)] : []),
      cell(row.config, 'config'),
      cell(row.figures, 'readings'),
      cell(standingWords[row.standing], `is-${row.standing}`),
    ),
  );
  const heads = ['trial', ...(hasServers ? ['server'] : []), 'config', 'figures', ''];
  showTable(place, { title: 'Latest trials', name: 'latest', heads, rows });
}

const standingWords = {
  best: 'best',
  original: 'original config',
  met: 'meets the goal',
  missed: 'misses the goal',
  failed: 'failed',
};

function showFailures(place, failures) {
  const rows = failures.map(({ what, kind, reason }) =>
    make('tr', { class: 'failed' }, cell(what), cell(kind), cell(reason, 'reason')),
  );
  showTable(place, { title: 'Failures', name: 'failures', heads: ['what', 'kind', 'why'], rows });
}
