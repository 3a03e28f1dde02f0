// What if: the words and the table for what the controls say.

/** The highest throughput of a config within the budget as foretold: [level, throughput]; null when none is. */
function within(told, config, budgetMs) {
  let best = null;
  for (const [at, cell] of told.configs[config].cells.entries()) {
    if (cell && cell[2] <= budgetMs && (!best || cell[0] > best[1])) best = [at, cell[0]];
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
  const { low, high } = told.latencyFactors ?? { low: 1, high: 1 };
  const verdict =
    cell[2] * high <= state.budgetMs
      ? make('span', { class: 'yes' }, 'within the budget')
      : cell[2] * low > state.budgetMs
        ? make('span', { class: 'no' }, 'over the budget')
        : make('span', {}, 'too near the budget to tell');
  const guess = cell[3] ? ' A guess: nothing measured had so many instances, or batches so large.' : '';
  words.replaceChildren(
    `${range(cell[0], told.throughputFactors)} infer/s, p${told.percentile} ${range(cell[2], told.latencyFactors)} ms: `,
    verdict,
    `.${guess} ${measuredWords(told, trial, state.level)} `,
    ...bestWithin(told, state, choose),
  );
}

/** What was measured of the config, and at this very level: that counts for more than what is foretold. */
function measuredWords(told, trial, at) {
  if (trial === null) return 'Not measured.';
  const found = (told.measured[trial] ?? []).find(([level]) => level === told.levels[at]);
  return found
    ? `Measured as trial ${trial}: ${figure(found[1])} infer/s, p${told.percentile} ${figure(found[2])} ms.`
    : `Measured as trial ${trial}, not at this level.`;
}

function bestWithin(told, state, choose) {
  const all = told.configs
    .map((_, config) => ({ config, found: within(told, config, state.budgetMs) }))
    .filter(({ found }) => found);
  if (all.length === 0) return [`Nothing foretold here keeps ${figure(state.budgetMs)} ms.`];
  const own = within(told, state.config, state.budgetMs);
  const best = all.reduce((most, each) => (each.found[1] > most.found[1] ? each : most));
  const ownWords = own
    ? `Within ${figure(state.budgetMs)} ms this config should serve ${figure(own[1])} infer/s at most (concurrency ${told.levels[own[0]]}).`
    : `This config is not expected to keep ${figure(state.budgetMs)} ms at any level.`;
  if (own && best.found[1] <= own[1]) return [ownWords, ' No other is expected to serve more.'];
  const show = make('a', { href: '#what-if' }, describe(told, best.config));
  show.addEventListener('click', (event) => {
    event.preventDefault();
    choose(best.config, best.found[0]);
  });
  const spread = told.throughputFactors
    ? told.throughputFactors.high / told.throughputFactors.low
    : Number.POSITIVE_INFINITY;
  const isUnsure = own && best.found[1] / own[1] < spread;
  const doubt = isUnsure ? ', more than this one by less than the predictions are off' : '';
  return [ownWords, ' Most is expected of ', show, `: ${figure(best.found[1])} infer/s${doubt}.`];
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
      cell ? range(cell[0], told.throughputFactors) : '–',
      cell ? range(cell[2], told.latencyFactors) + (cell[3] ? ', a guess' : '') : '–',
      found ? figure(found[0]) : '',
      found ? figure(found[1]) : '',
    ];
    return make('tr', at === state.level ? { class: 'here' } : {}, ...texts.map((text) => make('td', {}, text)));
  });
  table.tBodies[0].replaceChildren(...rows);
}
