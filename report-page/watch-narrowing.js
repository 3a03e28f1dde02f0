// Narrows the page to some studies, servers and failures. The choice is in the address after the #, so that it survives a reload and can be sent on.

const ANY_FAILURE = 'any';

/** `changed`: called after each change. */
function narrowingOf(form, changed) {
  const fields = Object.fromEntries(
    ['study', 'state', 'server', 'failure'].map((name) => [name, form.elements.namedItem(name)]),
  );
  const takeFromAddress = () => {
    const asked = new URLSearchParams(location.hash.slice(1));
    for (const [name, field] of Object.entries(fields)) {
      const value = asked.get(name) ?? '';
      // A study that has this value may still come.
      if (field.options) offer(field, [value].filter(Boolean));
      field.value = value;
    }
  };
  const chosen = () =>
    Object.fromEntries(Object.entries(fields).flatMap(([name, { value }]) => (value.trim() ? [[name, value]] : [])));
  const narrow = () => {
    const asked = new URLSearchParams(chosen()).toString();
    history.replaceState(null, '', asked === '' ? location.pathname : `#${asked}`);
    changed();
  };
  form.addEventListener('input', narrow);
  form.addEventListener('submit', (event) => event.preventDefault());
  form.addEventListener('reset', () => {
    // The fields are empty after this event.
    setTimeout(narrow);
  });
  window.addEventListener('hashchange', () => {
    takeFromAddress();
    changed();
  });
  takeFromAddress();
  return {
    get isOn() {
      return Object.keys(chosen()).length > 0;
    },
    get server() {
      return fields.server.value;
    },
    get failure() {
      return fields.failure.value;
    },
    /** Offers what these studies have. `studies`: heads, each with its view or null. */
    offer(studies) {
      const views = studies.flatMap(({ view }) => view ?? []);
      offer(
        fields.state,
        studies.map(({ head }) => head.status),
      );
      offer(
        fields.server,
        views.flatMap(({ servers }) => servers.map(({ server }) => server)),
      );
      const kinds = views.flatMap(({ failureKinds }) => failureKinds);
      offer(fields.failure, kinds.length > 0 ? [ANY_FAILURE, ...kinds] : []);
    },
    /** True if the study is shown. One whose records are not read has neither servers nor failures. */
    shows({ head, view }) {
      const { study = '', state = '', server = '', failure = '' } = chosen();
      const text = [head.study, head.group, view?.model].filter(Boolean).join(' ').toLowerCase();
      return (
        wordsIn(study).every((word) => text.includes(word)) &&
        (state === '' || head.status === state) &&
        (server === '' || (view?.servers ?? []).some((row) => row.server === server)) &&
        (failure === '' || (view?.failureKinds ?? []).some((kind) => isFailure(kind, failure)))
      );
    },
  };
}

const isFailure = (kind, wanted) => wanted === ANY_FAILURE || kind === wanted;

const wordsIn = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

/** Sets the choices of a field, and keeps the one that is chosen. Changes nothing that a person has open. */
function offer(select, values) {
  const { value } = select;
  const all = ['', ...new Set([...values, ...(value ? [value] : [])])];
  if (all.length === select.options.length && all.every((each, at) => each === select.options[at].value)) return;
  const words = { '': 'all', [ANY_FAILURE]: 'any failure' };
  select.replaceChildren(...all.map((each) => make('option', { value: each }, words[each] ?? each)));
  select.value = value;
}
