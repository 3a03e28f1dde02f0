import { plainLine } from '#base/format.ts';
import type { ServiceExplanation } from '#explain/explanation.ts';
import { modelLines, trafficText } from '#explain/words.ts';
import { scalingLines } from './scaling-lines.ts';

/** The columns of what a line is about. */
const NAME_COLUMNS = 10;

/** Returns what a server does, why, and what would be better, model by model. */
export function explainLines({ models, idle, budget, autoscalers = [] }: ServiceExplanation): readonly string[] {
  const lines = models.flatMap((model, at) => [
    ...(at > 0 ? [''] : []),
    trafficText(model),
    ...modelLines(model, budget).map(({ name, text }) => `  ${name.padEnd(NAME_COLUMNS)}${text}`),
  ]);
  if (models.length === 0) lines.push('no model had a request');
  if (idle.length > 0) lines.push('', `without requests: ${plainLine(idle.join(', '))}`);
  if (autoscalers.length > 0) lines.push('', ...scalingLines(autoscalers));
  return lines;
}
