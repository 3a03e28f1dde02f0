// The trials of a study: the latest, or those that a person looks for, which the server finds.

const TRIALS_PAUSE_MS = 500;
const TRIALS_LIMIT_MS = 15000;

/** Returns the part of a section with its trials, and the field to look for some. */
function trialsOf(study) {
  const place = make('div', { class: 'scroll' });
  const field = make('input', {
    ...{ type: 'search', autocomplete: 'off', spellcheck: 'false', placeholder: 'instances=4 failed' },
    'aria-label': `find trials of ${study}`,
  });
  const said = make('span', { class: 'soft', role: 'status' });
  const search = make('p', { class: 'find' }, make('label', {}, 'find trials ', field), ' ', said);
  const title = make('h3', {});
  const element = make('div', {}, title, search, place);
  element.hidden = true;
  let view = null;
  let narrowed = { server: '', failure: '' };
  const query = () => {
    const asked = { words: field.value.trim(), server: narrowed.server, failure: narrowed.failure };
    return new URLSearchParams(Object.entries(asked).filter(([, value]) => value !== '')).toString();
  };
  const find = oneAtATime(TRIALS_PAUSE_MS, async () => {
    const asked = query();
    if (asked === '' || view === null) return;
    const reply = await fetch(`studies/${encodeURIComponent(study)}/trials?${asked}`, {
      signal: AbortSignal.timeout(TRIALS_LIMIT_MS),
    });
    // A person may have looked for something else meanwhile.
    if (!reply.ok || asked !== query()) return;
    const { matching, total, trials } = await reply.json();
    const latest = trials.length < matching ? `, the latest ${trials.length} of them here` : '';
    said.textContent = `${matching} of ${total} ${total === 1 ? 'trial' : 'trials'}${latest}`;
    title.textContent = 'Found trials';
    showTrials(place, trials);
  });
  const show = () => {
    element.hidden = view === null || view.trials.length === 0;
    if (element.hidden) return;
    if (query() !== '') {
      find();
      return;
    }
    said.textContent = '';
    title.textContent = 'Latest trials';
    showTrials(place, view.trials);
  };
  field.addEventListener('input', show);
  return {
    element,
    show(next, by) {
      view = next;
      narrowed = by;
      show();
    },
  };
}
