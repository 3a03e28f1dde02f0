import { describeAssignment } from '#study/summary/describe.ts';
import type { Trial } from '#study/types.ts';
import type { TunerCommands } from '#tuner/steering.ts';
import { verdictOn } from './by-hand.ts';
import type { Command } from './commands.ts';
import { type Interaction, type Question, selectedTrial, wantsPause } from './interaction.ts';
import { narrowBy } from './parameters.ts';
import type { ViewState } from './state.ts';

/**
 * Passes a command to the run. Returns the message for the person, if any. `interaction`: the one
 * before the command.
 */
export function request(
  command: Command,
  view: ViewState,
  interaction: Interaction,
  commands: TunerCommands,
): string | null {
  const { question } = interaction;
  switch (command.name) {
    case 'pause':
      return togglePause(wantsPause(interaction, view), commands);
    case 'skip':
      return skip(view, commands);
    case 'again':
      return measureAgain(selectedTrial(interaction, view), view, commands);
    case 'withdraw':
      return withdraw(view, commands);
    case 'accept-budget':
      return changeBudget(question?.kind === 'budget' ? Number(question.text) : 0, commands);
    case 'pin':
    case 'exclude':
    case 'free':
      return narrow(command.name, question, view, commands);
    case 'try':
      return tryByHand(question, view, commands);
    case 'stop-search':
      commands.stopSearch();
      return 'ending the search; the final follows';
    default:
      return null;
  }
}

function togglePause(pauses: boolean, commands: TunerCommands): string {
  if (pauses) commands.resume();
  else commands.pause();
  return pauses ? 'continuing' : 'pausing after this measurement';
}

function skip({ study, activity }: ViewState, commands: TunerCommands): string {
  const running = study?.unfinished;
  if (!running) return 'no trial is running';
  if (running.role === 'baseline') return 'only a trial of the search can be skipped';
  commands.skipTrial();
  return `skipping trial ${running.number}${activity.kind === 'loading' ? ' once it is loaded' : ''}`;
}

function measureAgain(trial: Trial | null, view: ViewState, commands: TunerCommands): string {
  const level = trial?.measurements[trial.chosen ?? 0]?.level;
  if (!trial || level === undefined) return 'this trial has no measurement to repeat';
  const { value, batch } = level;
  const levels = { kind: 'fixed', values: [value], ...(batch !== undefined && { batch }) } as const;
  commands.enqueue({ assignment: trial.candidate.assignment, levels });
  const name = trial.role === 'baseline' ? 'the original' : `trial ${trial.number}`;
  return `${name} will be measured again ${describeTurn(view)}, as a new trial`;
}

function withdraw({ study }: ViewState, commands: TunerCommands): string | null {
  const wish = study?.requested.at(-1);
  if (!wish) return null;
  commands.withdraw(wish);
  return `cancelled: ${describeAssignment(wish.assignment)}`;
}

function changeBudget(latencyMs: number, commands: TunerCommands): string {
  if (!(latencyMs > 0)) return 'type a number of milliseconds above 0, such as 20';
  commands.changeBudget(latencyMs);
  return `the budget is now ${latencyMs} ms`;
}

function narrow(
  how: 'pin' | 'exclude' | 'free',
  question: Question | null,
  { study }: ViewState,
  commands: TunerCommands,
): string | null {
  if (!study || question?.kind !== 'space') return null;
  const narrowed = narrowBy(study, question.narrowing, question, how);
  if ('refused' in narrowed) return narrowed.refused;
  commands.narrow(narrowed.narrowing);
  return narrowed.message;
}

function tryByHand(question: Question | null, view: ViewState, commands: TunerCommands): string | null {
  const { study } = view;
  if (!study || question?.kind !== 'hand') return null;
  const verdict = verdictOn(study, question.assignment);
  if (!verdict.legal) return `rejected: ${verdict.reason}`;
  commands.enqueue({ assignment: verdict.candidate.assignment, levels: { kind: 'search' } });
  return `queued: it is tried ${describeTurn(view)}`;
}

/** Returns when a request made now will take effect. */
function describeTurn({ study, isPaused }: ViewState): string {
  const ahead = study?.requested.length ?? 0;
  if (ahead > 0) return `after the ${ahead === 1 ? 'one that is waiting' : `${ahead} that are waiting`}`;
  const running = study?.unfinished
    ? `, after ${study.unfinished.number === 0 ? 'the original' : `trial ${study.unfinished.number}`}`
    : '';
  return `next${running}${isPaused ? ', once you continue with p' : ''}`;
}
