// Cost at a rate: the slider, and the table and words that follow from it.

function followCost() {
  const block = byId('cost-rows');
  if (!block) return;
  const told = JSON.parse(block.textContent);
  const rates = rateSteps(told);
  const state = { rate: told.rate };
  const nearest = () =>
    rates.reduce(
      (best, rate, at) =>
        Math.abs(Math.log(rate / state.rate)) < Math.abs(Math.log(rates[best] / state.rate)) ? at : best,
      0,
    );
  const update = () => {
    rate.refresh();
    showCosts(told, state.rate);
  };
  const rate = slider(
    'rate',
    rates.length - 1,
    nearest,
    () => `${figure(state.rate)} ${told.unit}`,
    (at) => {
      state.rate = rates[at];
      update();
    },
  );
  const reset = make('button', { type: 'button' }, "back to the study's rate");
  reset.addEventListener('click', () => {
    state.rate = told.rate;
    update();
  });
  byId('cost-controls').append(rate.element, make('div', {}, reset));
  byId('cost-controls').hidden = false;
  update();
}

/** Returns the rates of the slider: from a tenth of what one server serves to thirty times what the best does, including the study's own. */
function rateSteps({ rows, rate }) {
  const usable = rows.map((row) => row.usable);
  const [low, high] = [Math.min(rate, ...usable) / 10, 30 * Math.max(rate / 30, ...usable)];
  const steps = Array.from({ length: 121 }, (_, step) => Number((low * (high / low) ** (step / 120)).toPrecision(2)));
  return [...new Set([...steps, rate])].sort((a, b) => a - b);
}

function showCosts({ rows, currency, unit }, rate) {
  const all = rows
    .map((row) => {
      const replicas = Math.max(1, Math.ceil(rate / row.usable - 1e-9));
      return { ...row, replicas, load: rate / (replicas * row.usable), cost: replicas * row.perHour };
    })
    .sort((a, b) => a.cost - b.cost || a.load - b.load);
  const [best] = all;
  byId('cost-words').textContent =
    `${figure(rate)} ${unit} cost ${amount(best.cost, currency)} an hour at least: ${figure(best.replicas)} × ${best.name}.`;
  byId('cost-table').tBodies[0].replaceChildren(
    ...all.map((each, index) =>
      make(
        'tr',
        index === 0 ? { class: 'here' } : {},
        ...[
          each.name,
          figure(each.usable),
          each.gpus ? figure(each.usable / each.gpus) : '–',
          figure(each.replicas),
          `${Math.round(100 * each.load)} %`,
          figure(each.cost),
          figure((each.cost / (rate * 3600)) * 1e6),
        ].map((text) => make('td', {}, text)),
      ),
    ),
  );
}

/** Same as on the page without a script: two decimals for whole units. */
const amount = (value, currency) => `${value >= 1 && value < 1000 ? value.toFixed(2) : figure(value)} ${currency}`;
