// What if: the controls, and what follows from them.

function followWhatIf() {
  const block = byId('what-if-predictions');
  if (!block) return;
  const told = JSON.parse(block.textContent);
  const state = { config: 0, level: told.level, budgetMs: told.budgetMs ?? budgetGuess(told) };
  const controls = byId('what-if-controls');
  const update = () => {
    for (const each of selects) each.refresh();
    level.refresh();
    budget.refresh();
    showWords(told, state, choose);
    showTable(told, state);
    showChart(told, state);
  };
  const choose = (config, at) => {
    state.config = config;
    if (at !== undefined) state.level = at;
    update();
  };
  const selects = told.parameters.map((parameter, index) =>
    told.models && isNumeric(parameter)
      ? parameterSlider(told, state, parameter, index, choose)
      : parameterControl(told, state, parameter, index, choose),
  );
  const level = slider(
    told.nameOfLevels,
    told.levels.length - 1,
    () => state.level,
    () => String(told.levels[state.level]),
    (at) => {
      state.level = at;
      update();
    },
  );
  const budgets = budgetSteps(told);
  const nearestBudget = () =>
    budgets.reduce(
      (best, ms, at) =>
        Math.abs(Math.log(ms / state.budgetMs)) < Math.abs(Math.log(budgets[best] / state.budgetMs)) ? at : best,
      0,
    );
  const budget = slider(
    `budget on p${told.percentile}`,
    budgets.length - 1,
    nearestBudget,
    () => `${figure(state.budgetMs)} ms`,
    (at) => {
      state.budgetMs = budgets[at];
      update();
    },
  );
  const reset = make('button', { type: 'button' }, "back to the study's best");
  reset.addEventListener('click', () => {
    state.budgetMs = told.budgetMs ?? budgetGuess(told);
    choose(0, told.level);
  });
  controls.append(...grouped(told, selects), level.element, budget.element, make('div', {}, reset));
  for (const id of ['what-if-controls', 'what-if-words', 'what-if-figure']) byId(id).hidden = false;
  update();
}

const cellsOf = (told) => told.configs.flatMap(({ cells }) => cells.filter(Boolean));
const budgetGuess = (told) => 2 * Math.min(...cellsOf(told).map((cell) => latencyOf(cell).value));

/** Returns the budgets of the slider: from below all predictions to above them, including the study's own. */
function budgetSteps(told) {
  const latencies = cellsOf(told).map((cell) => latencyOf(cell).value);
  const [low, high] = [Math.min(...latencies) / 2, Math.max(...latencies) * 1.5];
  const steps = Array.from({ length: 81 }, (_, step) => Number((low * (high / low) ** (step / 80)).toPrecision(2)));
  return [...new Set([...steps, ...(told.budgetMs ? [told.budgetMs] : [])])].sort((a, b) => a - b);
}

function slider(name, max, position, text, onMove) {
  const input = make('input', { type: 'range', min: '0', max: String(max), step: '1' });
  const output = make('output', {});
  input.addEventListener('input', () => onMove(Number(input.value)));
  return {
    element: make('label', {}, make('span', {}, `${name}: `, output), input),
    refresh: () => {
      input.value = String(position());
      input.setAttribute('aria-valuetext', text());
      output.textContent = text();
    },
  };
}

/** Returns the controls of the parameters; for several models, in a group for each. */
function grouped(told, selects) {
  if (!told.models) return selects.map((each) => each.element);
  return told.models.flatMap((model) => {
    const own = selects.filter((_, index) => told.parameters[index].name.startsWith(`${model}/`));
    if (own.length === 0) return [];
    return [make('fieldset', {}, make('legend', {}, model), ...own.map((each) => each.element))];
  });
}

/** The name of a parameter in its group. */
const shortName = (told, name) => (told.models ? name.slice(name.indexOf('/') + 1) : name);

const isNumeric = ({ values }) => values.every((value) => value.trim() !== '' && Number.isFinite(Number(value)));

function parameterSlider(told, state, { name, values }, index, choose) {
  const now = () => told.configs[state.config].settings[index];
  const text = () => values[now()];
  const move = (at) => choose(nearest(told, state.config, index, at));
  return slider(shortName(told, name), values.length - 1, now, text, move);
}

function parameterControl(told, state, parameter, index, choose) {
  const select = make(
    'select',
    {},
    ...parameter.values.map((value, at) => make('option', { value: String(at) }, value)),
  );
  select.addEventListener('change', () => choose(nearest(told, state.config, index, Number(select.value))));
  return {
    element: make('label', {}, make('span', {}, shortName(told, parameter.name)), select),
    refresh: () => {
      select.value = String(told.configs[state.config].settings[index]);
    },
  };
}

/** Returns the predicted config with that value whose other settings are closest to the present ones. */
function nearest(told, config, index, value) {
  const now = told.configs[config].settings;
  const apart = (other) => other.settings.filter((each, at) => at !== index && each !== now[at]).length;
  let best = config;
  for (const [at, other] of told.configs.entries()) {
    if (other.settings[index] !== value) continue;
    if (told.configs[best].settings[index] !== value || apart(other) < apart(told.configs[best])) best = at;
  }
  return best;
}

const describe = (told, config) =>
  told.parameters.map(({ name, values }, index) => `${name}=${values[told.configs[config].settings[index]]}`).join(' ');

/** Where the figures of a cell are in what the page holds: [throughput, p50, latency, whether it is a guess, ranges]. */
const throughputOf = (cell) => ({ value: cell[0], low: cell[4] ?? cell[0], high: cell[5] ?? cell[0] });
const latencyOf = (cell) => ({ value: cell[2], low: cell[6] ?? cell[2], high: cell[7] ?? cell[2] });

const range = ({ value, low, high }) =>
  low === high ? figure(value) : `${figure(value)} (${figure(low)} to ${figure(high)})`;
