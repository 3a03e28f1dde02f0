import { TrituneError } from '#base/errors.ts';
import { NS_PER_MS } from '#base/units.ts';
import type { RequestLimits } from '#queueing/continuous/request-limits.ts';
import { msPer } from './option-values.ts';

const example = "write for example e2e<=50ms, 'ttft<=200ms itl<=20ms tpot<=15ms e2e<=5s', or ttft:200 e2el:5000";

/**
 * Names of limits: ours, and those of vLLM (`e2el`) and AIPerf. AIPerf's inter-token latency is a
 * mean over the reply, so it is our `tpot`.
 */
const fields: Readonly<Record<string, keyof RequestLimits>> = {
  ttft: 'ttftNs',
  time_to_first_token: 'ttftNs',
  itl: 'itlNs',
  tpot: 'tpotNs',
  inter_token_latency: 'tpotNs',
  e2e: 'e2eNs',
  e2el: 'e2eNs',
  request_latency: 'e2eNs',
};

/**
 * Reads limits, and adds them to the earlier ones. A value without a unit is in milliseconds.
 * Errors: USAGE.
 */
export function goodputLimits(text: string, previous: RequestLimits | undefined): RequestLimits {
  return text
    .split(/[\s,]+/)
    .filter((part) => part !== '')
    .reduce(withLimit, previous ?? {});
}

function withLimit(limits: RequestLimits, text: string): RequestLimits {
  const [, name = '', value, unit = 'ms'] = /^([a-z_0-9]+)(?:<=|:|=)(\d+(?:\.\d+)?)(us|ms|s)?$/i.exec(text) ?? [];
  const field = Object.hasOwn(fields, name.toLowerCase()) ? fields[name.toLowerCase()] : undefined;
  if (field === undefined || !(Number(value) > 0)) throw usage(`'${text}' is not a limit on a request`, example);
  if (limits[field] !== undefined)
    throw usage(`'${text}' limits a figure that already has a limit`, 'give each limit once');
  return { ...limits, [field]: Number(value) * (msPer[unit.toLowerCase()] as number) * NS_PER_MS };
}

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
