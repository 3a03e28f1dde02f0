// The page that watches studies: its stream of events, and what each event changes. All text goes in as text, never as markup.

/** A stream that is silent for this long is lost, even if the browser thinks otherwise: the server sends something every 10 s. */
const SILENCE_MS = 25000;

function followStudies() {
  const sections = new Map();
  let canSteer = false;
  let heardMs = 0;
  let stream = null;
  const narrowing = narrowingOf(byId('narrowing'), () => narrow());
  const narrow = () => {
    for (const section of sections.values()) section.narrow(narrowing);
    showCount();
  };
  /** Says how many studies the page is narrowed to. */
  const showCount = () => {
    const all = [...sections.values()];
    const shown = all.filter(({ element }) => !element.hidden).length;
    byId('narrowing').hidden = all.length === 0;
    byId('shown').textContent = narrowing.isOn
      ? `${shown} of ${all.length} ${all.length === 1 ? 'study' : 'studies'}`
      : '';
  };
  const showChoices = () => {
    narrowing.offer([...sections.values()].map(({ about }) => about));
  };

  const connect = () => {
    stream?.close();
    heardMs = performance.now();
    stream = new EventSource('events');
    stream.addEventListener('open', heard);
    stream.addEventListener('beat', heard);
    stream.addEventListener('board', ({ data }) => {
      heard();
      showBoard(JSON.parse(data));
    });
    stream.addEventListener('study', ({ data }) => {
      heard();
      showStudy(JSON.parse(data));
    });
    // The browser reconnects by itself, except for a stream that it has given up.
    stream.addEventListener('error', () => showState('lost', 'not connected: trying again'));
  };
  const heard = () => {
    heardMs = performance.now();
    showState('live', 'live');
  };
  const showBoard = ({ studies, trouble, ...board }) => {
    canSteer = board.canSteer;
    byId('trouble').hidden = trouble === null;
    byId('trouble').textContent = trouble ?? '';
    byId('nothing').hidden = studies.length > 0;
    byId('steering').hidden = !canSteer;
    for (const [name, section] of sections) {
      if (studies.some(({ study }) => study === name)) continue;
      section.element.remove();
      sections.delete(name);
    }
    for (const head of studies) sectionOf(head.study).showHead(head, canSteer);
    // Moves elements only if the order differs, because moving loses the focus.
    const ordered = studies.map(({ study }) => sections.get(study).element);
    if (ordered.some((element, at) => byId('studies').children[at] !== element))
      byId('studies').replaceChildren(...ordered);
    showChoices();
    narrow();
  };
  const showStudy = (view) => {
    sectionOf(view.study).show(view, canSteer, narrowing);
    showChoices();
    showCount();
  };
  const sectionOf = (name) => {
    const known = sections.get(name) ?? studySection(name);
    if (!sections.has(name)) byId('studies').append(known.element);
    sections.set(name, known);
    return known;
  };

  connect();
  setInterval(() => {
    for (const section of sections.values()) section.tick();
    if (performance.now() - heardMs < SILENCE_MS) return;
    showState('lost', 'not connected: trying again');
    connect();
  }, 1000);
  // After sleep, a laptop's stream has no one at the other end.
  window.addEventListener('online', connect);
  byId('steering').addEventListener('submit', (event) => event.preventDefault());
}

function showState(name, text) {
  const place = byId('state');
  if (place.textContent === text) return;
  place.className = name;
  place.textContent = text;
}
