// What if: the words and the table for what the controls say.

/** Returns the highest predicted throughput of a config within the budget: { at, value, low, high }; null if there is none. */
function within(told, config, budgetMs) {
  let best = null;
  for (const [at, cell] of told.configs[config].cells.entries()) {
    if (!cell || latencyOf(cell).value > budgetMs) continue;
    const throughput = throughputOf(cell);
    if (!best || throughput.value > best.value) best = { at, ...throughput };
  }
  return best;
}

function showWords(told, state, choose) {
  const { trial, cells } = told.configs[state.config];
  const cell = cells[state.level];
  const words = byId('what-if-words');
  if (!cell) {
    words.replaceChildren(
      'The model cannot say: requests of this size do not fit, or its other settings were never measured.',
    );
    return;
  }
  const latency = latencyOf(cell);
  const verdict =
    latency.high <= state.budgetMs
      ? make('span', { class: 'yes' }, 'within the budget')
      : latency.low > state.budgetMs
        ? make('span', { class: 'no' }, 'over the budget')
        : make('span', {}, 'too near the budget to tell');
  const guess = cell[3] ? ' A guess: nothing that was measured had this many instances, or batches this large.' : '';
  words.replaceChildren(
    `${range(throughputOf(cell))} ${told.unit}, p${told.percentile} ${range(latency)} ms: `,
    verdict,
    `.${guess} ${measuredWords(told, trial, state.level)} `,
    ...bestWithin(told, state, choose),
  );
}

/** Returns what was measured of the config, and at this very level, which counts for more than a prediction. */
function measuredWords(told, trial, at) {
  if (trial === null) return 'Not measured.';
  const found = (told.measured[trial] ?? []).find(([level]) => level === told.levels[at]);
  return found
    ? `Measured as trial ${trial}: ${figure(found[1])} ${told.unit}, p${told.percentile} ${figure(found[2])} ms.`
    : `Measured as trial ${trial}, not at this level.`;
}

function bestWithin(told, state, choose) {
  const all = told.configs
    .map((_, config) => ({ config, found: within(told, config, state.budgetMs) }))
    .filter(({ found }) => found);
  if (all.length === 0) return [`No config here is predicted to meet ${figure(state.budgetMs)} ms.`];
  const own = within(told, state.config, state.budgetMs);
  const best = all.reduce((most, each) => (each.found.value > most.found.value ? each : most));
  const ownWords = own
    ? `Within ${figure(state.budgetMs)} ms this config should serve ${figure(own.value)} ${told.unit} at most (${told.nameOfLevels}: ${told.levels[own.at]}).`
    : `This config is not expected to meet ${figure(state.budgetMs)} ms at any level.`;
  if (own && best.found.value <= own.value) return [ownWords, ' No other is expected to serve more.'];
  const show = make('a', { href: '#what-if' }, describe(told, best.config));
  show.addEventListener('click', (event) => {
    event.preventDefault();
    choose(best.config, best.found.at);
  });
  const isUnsure = own && best.found.low <= own.high;
  const doubt = isUnsure ? ', a difference smaller than the error of the predictions' : '';
  return [ownWords, ' The highest prediction is for ', show, `: ${figure(best.found.value)} ${told.unit}${doubt}.`];
}

function showTable(told, state) {
  const table = byId('what-if-table');
  const { trial, cells } = told.configs[state.config];
  const measured = new Map((told.measured[trial] ?? []).map(([at, ...figures]) => [at, figures]));
  table.caption.textContent = describe(told, state.config);
  const rows = told.levels.map((level, at) => {
    const cell = cells[at];
    const found = measured.get(level);
    const texts = [
      String(level),
      cell ? range(throughputOf(cell)) : '–',
      cell ? range(latencyOf(cell)) + (cell[3] ? ', a guess' : '') : '–',
      found ? figure(found[0]) : '',
      found ? figure(found[1]) : '',
    ];
    return make('tr', at === state.level ? { class: 'here' } : {}, ...texts.map((text) => make('td', {}, text)));
  });
  table.tBodies[0].replaceChildren(...rows);
}
