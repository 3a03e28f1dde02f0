// The report's only script: it shows what the page holds already, and loads nothing. All text goes in as text, never as markup.
(() => {
  const svgNames = 'http://www.w3.org/2000/svg';

  const byId = (id) => document.getElementById(id);

  /** An element with attributes and children; strings become text. */
  function make(name, attributes, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  function draw(parent, name, attributes, text) {
    const element = document.createElementNS(svgNames, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }

  /** Three digits, or whole numbers with separators: as everywhere on the page. */
  function figure(value) {
    if (!Number.isFinite(value)) return '–';
    return Math.abs(value) >= 999.5 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)));
  }

  // --- The points of the front's chart -------------------------------------------------------------------------------

  function followPoints() {
    const panel = byId('point');
    const links = [...document.querySelectorAll('#front svg a')];
    if (!panel || links.length === 0) return;
    const show = (link) => {
      for (const other of links)
        other.classList.toggle('shown', other.getAttribute('href') === link.getAttribute('href'));
      panel.replaceChildren(...panelOf(link));
      panel.hidden = false;
    };
    for (const link of links) {
      link.addEventListener('pointerenter', () => show(link));
      link.addEventListener('focus', () => show(link));
      link.addEventListener('click', (event) => {
        event.preventDefault();
        show(link);
      });
    }
    window.addEventListener('hashchange', openTarget);
    openTarget();
    const best = links.find((link) => link.getAttribute('href') === panel.dataset.start);
    if (best) show(best);
  }

  /** A row inside a closed trial: the trial is opened, so that a link to the row leads somewhere. */
  function openTarget() {
    const target = location.hash.length > 1 ? byId(decodeURIComponent(location.hash.slice(1))) : null;
    const card = target?.closest('details');
    if (!card) return;
    card.open = true;
    target.scrollIntoView({ block: 'nearest' });
  }

  function panelOf(link) {
    const row = byId(link.getAttribute('href').slice(1));
    const card = row.closest('details');
    const heads = [...row.closest('table').querySelectorAll('th')].map((cell) => cell.textContent);
    const list = make('dl', {});
    for (const [index, cell] of [...row.cells].entries()) {
      if (cell.textContent === '') continue;
      list.append(make('div', {}, make('dt', {}, heads[index]), make('dd', {}, cell.textContent)));
    }
    const all = make('a', { href: `#${card.id}` }, 'all levels of this trial');
    return [
      make('h3', {}, link.getAttribute('aria-label')),
      card.querySelector('.diff').cloneNode(true),
      ...splitOf(row, heads),
      list,
      make('p', { class: 'soft' }, all),
    ];
  }

  const splitColours = { 'queue, ms': '#e08a1e', 'compute, ms': '#2f7ed8', 'outside, ms': '#999fa8' };

  /** A bar of where the time went, with its words. */
  function splitOf(row, heads) {
    const parts = Object.entries(splitColours).map(([head, colour]) => {
      const ms = Number(row.cells[heads.indexOf(head)].textContent.replaceAll(',', ''));
      return { head, colour, ms };
    });
    const whole = parts.reduce((sum, { ms }) => sum + ms, 0);
    if (!(whole > 0)) return [];
    const bar = make('div', { class: 'split', 'aria-hidden': 'true' });
    for (const { head, colour, ms } of parts) {
      bar.append(make('span', { style: `width:${(100 * ms) / whole}%;background:${colour}`, title: `${head}: ${ms}` }));
    }
    const words = parts.map(({ head, ms }) => `${head.split(',')[0]} ${Math.round((100 * ms) / whole)} %`).join(' · ');
    return [bar, make('p', { class: 'soft' }, words)];
  }

  // --- What if -------------------------------------------------------------------------------------------------------

  function followWhatIf() {
    const block = byId('what-if-predictions');
    if (!block) return;
    const told = JSON.parse(block.textContent);
    const state = { config: 0, level: told.level, budgetMs: told.budgetMs ?? budgetGuess(told) };
    const controls = byId('what-if-controls');
    const update = () => {
      for (const each of knobs) each.refresh();
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
    const knobs = told.knobs.map((knob, index) => knobControl(told, state, knob, index, choose));
    const level = slider(
      'concurrency',
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
    controls.append(...knobs.map((each) => each.element), level.element, budget.element, make('div', {}, reset));
    for (const id of ['what-if-controls', 'what-if-words', 'what-if-chart']) byId(id).hidden = false;
    update();
  }

  const cellsOf = (told) => told.configs.flatMap(({ cells }) => cells.filter(Boolean));
  const budgetGuess = (told) => 2 * Math.min(...cellsOf(told).map((cell) => cell[2]));

  /** Budgets to slide over: from below all predictions to above them, the study's own among them. */
  function budgetSteps(told) {
    const latencies = cellsOf(told).map((cell) => cell[2]);
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

  function knobControl(told, state, knob, index, choose) {
    const select = make('select', {}, ...knob.values.map((value, at) => make('option', { value: String(at) }, value)));
    select.addEventListener('change', () => choose(nearest(told, state.config, index, Number(select.value))));
    return {
      element: make('label', {}, make('span', {}, knob.name), select),
      refresh: () => {
        select.value = String(told.configs[state.config].settings[index]);
      },
    };
  }

  /** The foretold config with that value whose other settings are most like the present ones. */
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
    told.knobs.map(({ name, values }, index) => `${name}=${values[told.configs[config].settings[index]]}`).join(' ');

  const range = (value, factors) =>
    factors === null
      ? figure(value)
      : `${figure(value)} (${figure(value * factors.low)} to ${figure(value * factors.high)})`;

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
    const known = trial === null ? ' Not measured.' : ` Measured as trial ${trial}.`;
    words.replaceChildren(
      `${range(cell[0], told.throughputFactors)} infer/s, p${told.percentile} ${range(cell[2], told.latencyFactors)} ms: `,
      verdict,
      `.${guess}${known} `,
      ...bestWithin(told, state, choose),
    );
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

  /** Latency over concurrency as foretold, with its range, the measured points, and the budget. Both axes in doublings. */
  function showChart(told, state) {
    const place = byId('what-if-chart');
    const narrow = place.clientWidth < 560;
    const [width, height, left, bottom] = narrow ? [380, 260, 52, 44] : [900, 300, 64, 46];
    const { trial, cells } = told.configs[state.config];
    const { low, high } = told.latencyFactors ?? { low: 1, high: 1 };
    const points = cells.flatMap((cell, at) => (cell ? [[told.levels[at], cell[2]]] : []));
    const measured = (told.measured[trial] ?? []).map(([level, , latency]) => [level, latency]);
    const all = cellsOf(told).map((cell) => cell[2]);
    const scale = (values, from, to) => {
      const [from2, to2] = [Math.floor(Math.log2(Math.min(...values))), Math.ceil(Math.log2(Math.max(...values)))];
      const span = Math.max(1, to2 - from2);
      const step = Math.ceil(span / 8);
      const ticks = Array.from({ length: Math.floor(span / step) + 1 }, (_, tick) => 2 ** (from2 + tick * step));
      return { at: (value) => from + ((Math.log2(value) - from2) / span) * (to - from), ticks };
    };
    const x = scale(told.levels, left, width - 16);
    const y = scale([...all.map((ms) => ms * low), ...all.map((ms) => ms * high)], height - bottom, 12);
    const svg = document.createElementNS(svgNames, 'svg');
    svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    svg.setAttribute('role', 'img');
    svg.setAttribute(
      'aria-label',
      `Latency over concurrency of ${describe(told, state.config)}; the figures are in the table below`,
    );
    for (const tick of y.ticks) {
      draw(svg, 'line', { x1: left, x2: width - 16, y1: y.at(tick), y2: y.at(tick), stroke: '#8883' });
      draw(svg, 'text', { x: left - 8, y: y.at(tick) + 4, 'text-anchor': 'end', 'font-size': 12 }, figure(tick));
    }
    for (const tick of x.ticks) {
      draw(
        svg,
        'text',
        { x: x.at(tick), y: height - bottom + 18, 'text-anchor': 'middle', 'font-size': 12 },
        figure(tick),
      );
    }
    draw(
      svg,
      'text',
      { x: (left + width) / 2, y: height - 6, 'text-anchor': 'middle', 'font-size': 12 },
      'concurrency',
    );
    const axis = { x: 14, y: (height - bottom) / 2, 'text-anchor': 'middle', 'font-size': 12 };
    draw(svg, 'text', { ...axis, transform: `rotate(-90 14 ${axis.y})` }, `p${told.percentile} latency, ms`);
    const line = (list) => list.map(([level, ms]) => `${x.at(level)},${y.at(ms)}`).join(' ');
    const band = [
      ...points.map(([level, ms]) => [level, ms * high]),
      ...points.map(([level, ms]) => [level, ms * low]).reverse(),
    ];
    draw(svg, 'polygon', { points: line(band), fill: '#2f7ed8', 'fill-opacity': 0.22 });
    draw(svg, 'polyline', { points: line(points), fill: 'none', stroke: '#2f7ed8', 'stroke-width': 2 });
    const lowest = y.ticks[0];
    const top = y.at(Math.max(state.budgetMs, lowest));
    if (top > 8) {
      draw(svg, 'line', { x1: left, x2: width - 16, y1: top, y2: top, stroke: '#d33', 'stroke-dasharray': '4 3' });
      draw(
        svg,
        'text',
        { x: width - 18, y: top - 5, 'text-anchor': 'end', 'font-size': 12 },
        `budget ${figure(state.budgetMs)} ms`,
      );
    }
    const here = cells[state.level];
    if (here) {
      draw(svg, 'circle', {
        cx: x.at(told.levels[state.level]),
        cy: y.at(here[2]),
        r: 6,
        fill: 'none',
        stroke: '#2f7ed8',
        'stroke-width': 2,
      });
    }
    for (const [level, ms] of measured) draw(svg, 'circle', { cx: x.at(level), cy: y.at(ms), r: 4, fill: '#e08a1e' });
    const key = narrow ? left + 6 : left + 12;
    draw(
      svg,
      'text',
      { x: key + 12, y: 22, 'font-size': 12 },
      measured.length > 0
        ? 'measured; the line is predicted, with its range'
        : 'predicted, with its range; not measured',
    );
    draw(svg, 'circle', { cx: key, cy: 18, r: 4, fill: measured.length > 0 ? '#e08a1e' : '#2f7ed8' });
    place.replaceChildren(svg);
  }

  followPoints();
  followWhatIf();
})();
