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
    failures: make('div', { class: 'scroll' }),
  };
  const front = frontFigure(name);
  const trials = trialsOf(name);
  const orders = ordersOf(name);
  const body = make(
    'div',
    {},
    ...[parts.notice, parts.standing, parts.bar, parts.progress, orders.element, parts.servers, front.element],
    ...[trials.element, parts.failures],
  );
  const element = make('details', { class: 'study' }, make('summary', {}, parts.title, ' ', parts.about), body);
  let head = null;
  let last = null;
  let shownMs = 0;
  let wasOpened = false;
  let narrowed = { server: '', failure: '' };
  body.hidden = true;
  /** Shows what takes a while, if a person looks at it. */
  const showRows = () => {
    if (!element.open || element.hidden || !last) return;
    showServers(parts.servers, last.servers, narrowed);
    trials.show(last, narrowed);
    showFailures(parts.failures, last.failures, narrowed);
    front.show(last.chart);
  };
  const narrow = ({ shows, server, failure }) => {
    narrowed = { server, failure };
    element.hidden = !shows({ head, view: last });
  };
  element.addEventListener('toggle', showRows);
  return {
    element,
    /** What decides whether a narrowed page shows it. */
    get about() {
      return { head, view: last };
    },
    narrow(narrowing) {
      narrow(narrowing);
      showRows();
    },
    showHead(now, canSteer) {
      head = now;
      if (!last) parts.about.textContent = [head.status, groupText(head), sinceText(head)].filter(Boolean).join(', ');
      orders.show(canSteer && head.status === 'under way' && !isOver(last));
    },
    show(view, canSteer, narrowing) {
      last = view;
      head ??= view;
      shownMs = performance.now();
      // Opens a study under way, unless a person has closed it.
      if (!wasOpened) element.open = view.status === 'under way';
      wasOpened = true;
      body.hidden = false;
      parts.about.textContent = [view.model, outcomeOf(view), groupText(view)].filter(Boolean).join(', ');
      showStanding(parts, view);
      showProgress(parts, view, 0);
      orders.show(canSteer && view.status === 'under way' && !isOver(view));
      narrow(narrowing);
      showRows();
    },
    /** Advances the time between two views. */
    tick() {
      if (last?.progress.isRunning) showProgress(parts, last, (performance.now() - shownMs) / 1000);
    },
  };
}

const isOver = (view) => view?.phase.startsWith('ended: ') ?? false;

/** A study that has ended says first what it found; the reason of its end is in its details. */
const outcomeOf = (view) => (isOver(view) && view.best !== '' ? view.best : view.phase);

const groupText = ({ group }) => (group === null ? '' : `group ${group}`);

const sinceText = ({ startedAt }) => (startedAt === null ? '' : `since ${new Date(startedAt).toLocaleString()}`);

function showStanding({ standing, notice }, view) {
  const facts = [
    ['goal', view.goal],
    ['server', view.servers.length > 1 ? '' : view.server],
    ['ended', isOver(view) ? view.phase.replace(/^ended: /, '') : ''],
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
