import type { Key } from 'ink';
import { describe, expect, it } from 'vitest';
import { answers, bindings } from '#tui/bindings.ts';
import { toAssignment } from '#tui/by-hand.ts';
import type { Abilities, Command } from '#tui/commands.ts';
import { findFigures } from '#tui/figures.ts';
import { initialInteraction, interact, listed, selectedTrial } from '#tui/interaction.ts';
import { findCommand, listHints, workingKeys } from '#tui/keys.ts';
import { midRun, recordedRun, upTo, viewAfter } from './recorded.ts';

const events = await recordedRun();
const initialView = viewAfter([]);
const mid = viewAfter(midRun(events));
const end = viewAfter(events);
const wish = { assignment: { max_batch_size: 8 }, levels: { kind: 'search' } } as const;
const asking = viewAfter([...midRun(events), { type: 'trial-requested', at: '2026-01-01T00:01:00.000Z', ...wish }]);
const live: Abilities = { phase: 'live', canExport: true };
const over: Abilities = { phase: 'over', canExport: true };
const key = (pressed: Partial<Key> = {}): Key => pressed as Key;

/** Keys that Ink names. */
const named: Readonly<Record<string, Partial<Key>>> = {
  '\r': { return: true },
  '\u001b': { escape: true },
  '↑': { upArrow: true },
  '↓': { downArrow: true },
  '←': { leftArrow: true },
  '→': { rightArrow: true },
  '⌫': { backspace: true },
};

const pressed = (inputs: readonly string[], interaction = initialInteraction) =>
  inputs.reduce((now, input) => {
    const command = findCommand(input, key(named[input]), now, live, mid);
    return command ? interact(now, command, mid) : now;
  }, interaction);

describe('the keys', () => {
  it('are each bound once in every panel', () => {
    for (const bound of Object.values(answers)) {
      const shown = bound.map((binding) => binding.shown);
      expect(new Set(shown).size).toBe(shown.length);
    }
  });

  it('are each bound once in every state', () => {
    for (const abilities of [live, over, { phase: 'stopping', canExport: true } as const]) {
      for (const view of [initialView, mid, asking, end]) {
        const shown = workingKeys(initialInteraction, abilities, view).map((binding) => binding.shown);
        expect(new Set(shown).size).toBe(shown.length);
      }
    }
  });

  it('are shown only where they work', () => {
    const shownIn = (abilities: Abilities, view = mid) =>
      listHints(initialInteraction, abilities, view).map(({ does }) => does);
    expect(shownIn(live)).toEqual(expect.arrayContaining(['pause', 'skip', 'budget', 'narrow', 'try', 'quit']));
    expect(shownIn(over)).toEqual(['details', 'sort', 'filter', 'chart', 'compare', 'export', 'help', 'close']);
    expect(shownIn({ phase: 'stopping', canExport: true })).not.toContain('pause');
    expect(shownIn(live, initialView)).not.toContain('skip');
    // The final begins with a load of a finished trial, before it has a record.
    const searched = upTo(events, (event) => event.type === 'trial-finished' && event.trial === 6);
    expect(shownIn(live, viewAfter(searched))).toContain('try');
    const inFinal = shownIn(live, viewAfter([...searched, { type: 'applying', trial: 3 }]));
    expect(inFinal).toContain('pause');
    for (const what of ['skip', 'budget', 'narrow', 'try']) expect(inFinal).not.toContain(what);
    expect(shownIn(live, initialView)).not.toContain('try');
    const names = bindings.map(({ command }) => command.name);
    const effects: readonly Command['name'][] = ['pause', 'skip', 'again', 'ask-budget', 'ask-quit', 'export', 'quit'];
    expect(names).toEqual(expect.arrayContaining([...effects]));
  });

  it('say why they do nothing now', () => {
    const told = (input: string, abilities: Abilities, view = mid) =>
      findCommand(input, key(named[input]), initialInteraction, abilities, view);
    const not = (reason: RegExp) => ({ name: 'not-now', reason: expect.stringMatching(reason) });
    expect(told('t', over, end)).toEqual(not(/the run has ended/));
    expect(told('q', { phase: 'stopping', canExport: true })).toEqual(not(/is ending/));
    expect(told('s', live, initialView)).toEqual(not(/not started/));
    const inFinal = viewAfter(upTo(events, ({ type }) => type === 'final-measured'));
    expect(told('b', live, inFinal)).toEqual(not(/works during the search; now the final/));
    // The documents are being written.
    expect(told('p', live, inFinal)).toEqual({ name: 'pause' });
    expect(told('p', live, end)).toEqual(not(/is ending/));
    expect(told('u', live)).toEqual(not(/no trial .* is waiting/));
    expect(told('u', live, asking)).toEqual({ name: 'withdraw' });
    expect(interact(initialInteraction, { name: 'not-now', reason: '' }, mid)).toEqual(initialInteraction);
  });

  it('give nothing for a key that has no meaning', () => {
    expect(findCommand('z', key(), initialInteraction, live, mid)).toBeNull();
    expect(findCommand('s', key({ ctrl: true }), initialInteraction, live, mid)).toBeNull();
    expect(findCommand('c', key({ ctrl: true }), initialInteraction, live, mid)).toEqual({ name: 'interrupt' });
  });

  it('ask before they end the run, once', () => {
    const asked = pressed(['q']);
    expect(asked.question).toEqual({ kind: 'quit' });
    expect(findCommand('q', key(), asked, live, mid)).toBeNull();
    expect(findCommand('y', key(), asked, live, mid)).toEqual({ name: 'quit' });
    expect(findCommand('k', key(), asked, live, mid)).toEqual({ name: 'stop-search' });
    expect(pressed(['\u001b'], asked).question).toBeNull();
    expect(findCommand('q', key(), initialInteraction, over, end)).toEqual({ name: 'quit' });
  });

  it('take a budget in digits, with a point, and nothing else', () => {
    const asked = pressed(['b']);
    expect(asked.question).toEqual({ kind: 'budget', text: '40' });
    const cleared = [0, 1].reduce(
      (now) => interact(now, findCommand('', key({ backspace: true }), now, live, mid) as Command, mid),
      asked,
    );
    expect(pressed(['1', '2', '.', 'x', '5', '.', 's'], cleared).question).toEqual({ kind: 'budget', text: '12.5' });
    expect(findCommand('\r', key({ return: true }), cleared, live, mid)).toEqual({ name: 'accept-budget' });
  });

  it('move through the table in its order, within its ends', () => {
    expect(selectedTrial(initialInteraction, mid)?.number).toBe(mid.study?.best?.number);
    const byThroughput = interact(initialInteraction, { name: 'sort', step: 1 }, mid);
    const order = listed(byThroughput, mid).map(({ number }) => number);
    expect(order).toHaveLength(5);
    expect(order[0]).toBe(mid.study?.best?.number);
    expect(order.at(-1)).toBe(4);
    const below = pressed(['j'], byThroughput);
    expect(below.selected).toBe(order[1]);
    expect(pressed(['k', 'k', 'k'], below).selected).toBe(order[0]);
    expect(pressed(['\u001b'], below).selected).toBeNull();
  });

  it("order the table by the figures that stand in it, the final's where there are some", () => {
    const { study } = end;
    if (!study) throw new Error('the recorded run has a study');
    // In the final it served more than any other in the search.
    const finals = study.finals.map((final) =>
      final.trial === study.best?.number
        ? { ...final, measurement: { ...final.measurement, throughput: { value: 5, low: 5, high: 5 } } }
        : final,
    );
    const view = { ...end, study: { ...study, finals } };
    const figures = listed(interact(initialInteraction, { name: 'sort', step: 1 }, view), view).flatMap(
      (trial) => findFigures(view.study, trial)?.throughput.value ?? [],
    );
    expect(figures).toContain(5);
    expect(figures).toEqual([...figures].sort((a, b) => b - a));
  });

  it('show the front alone', () => {
    const numbers = listed(pressed(['f']), mid).map(({ number }) => number);
    expect(numbers.length).toBeLessThan(5);
    expect(new Set(mid.study?.front.map(({ trial }) => trial.number))).toEqual(new Set(numbers));
  });

  it('pin, exclude and free values, and leave no parameter without one', () => {
    const opened = pressed(['n']);
    expect(opened.question).toEqual({ kind: 'space', row: 0, column: 0, narrowing: {} });
    const narrowingAfter = (...keys: string[]) => {
      const { question } = pressed(keys, opened);
      return question?.kind === 'space' ? question.narrowing : null;
    };
    expect(narrowingAfter('→', '\r')).toEqual({ max_batch_size: { pinned: 4 } });
    expect(narrowingAfter('→', '\r', '\r')).toEqual({});
    expect(narrowingAfter(' ', '→', ' ')).toEqual({ max_batch_size: { excluded: [1, 4] } });
    expect(narrowingAfter('→', ' ', '←', ' ')).toEqual({ max_batch_size: { excluded: [1, 4] } });
    // The third would leave nothing to try.
    expect(narrowingAfter(' ', '→', ' ', '→', ' ')).toEqual({ max_batch_size: { excluded: [1, 4] } });
    expect(narrowingAfter(' ', '⌫')).toEqual({});
    // Four instances with batches of 8 are against the rule: one pin makes the other impossible.
    expect(narrowingAfter('→', '→', '\r', '↓', '↓', '→', '→', '→', '\r')).toEqual({ max_batch_size: { pinned: 8 } });
    expect(pressed(['\u001b'], opened).question).toBeNull();
    expect(pressed(['n'], opened).question).toBeNull();
  });

  it('put a candidate together from the values that go with each other', () => {
    const opened = pressed(['t']);
    const [from, assignment] = [mid.study?.best?.number, { max_batch_size: 1, instances: 3 }];
    expect(opened.question).toEqual({ kind: 'hand', row: 0, assignment, from });
    const assignmentAfter = (...keys: string[]) => {
      const { question } = pressed(keys, opened);
      return question?.kind === 'hand' && mid.study ? toAssignment(mid.study, question.assignment) : null;
    };
    const larger = { max_batch_size: 4, instances: 3 };
    expect(assignmentAfter('→')).toEqual(larger);
    expect(assignmentAfter('→', '↓', '→')).toEqual({ ...larger, queue_delay_us: 0 });
    // A delay does not apply to batches of one, and is there again with larger ones.
    expect(assignmentAfter('→', '↓', '→', '→', '↑', '←')).toEqual(assignment);
    expect(assignmentAfter('→', '↓', '→', '→', '↑', '←', '→')).toEqual({ ...larger, queue_delay_us: 500 });
    expect(assignmentAfter('←')).toEqual({ instances: 3 });
    expect(assignmentAfter('←', '←', '←', '→')).toEqual(assignment);
  });
});
