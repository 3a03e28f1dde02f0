import { TrituneError } from '#base/errors.ts';
import type { PromptSpec } from '#workload/prompt-spec.ts';

type Distribution = NonNullable<PromptSpec['inputTokens']>;

const forms =
  "write N, LOW:HIGH, normal:MEAN,STD[,MIN,MAX] or log-normal:MEAN,STD[,MIN,MAX], for example 'normal:512,128'";

/** Reads a distribution of whole numbers of 0 or more. Errors: USAGE. */
export function distribution(text: string): Distribution {
  const [, kind, list] = /^(normal|log-?normal|lognormal):(.+)$/.exec(text.trim()) ?? [];
  const distributionSpec = kind === undefined ? plain(text) : bell(kind, (list as string).split(','));
  if (distributionSpec) return distributionSpec;
  throw new TrituneError('USAGE', `'${text}' is not a distribution`, forms);
}

function plain(text: string): Distribution | null {
  const [low, high, ...rest] = text.split(':').map(parseNumber);
  if (low === undefined || rest.length > 0 || Number.isNaN(low)) return null;
  if (high === undefined) return { kind: 'constant', value: low };
  return low <= high ? { kind: 'uniform', low, high } : null;
}

function bell(kind: string, texts: readonly string[]): Distribution | null {
  const [mean = Number.NaN, std = Number.NaN] = texts.slice(0, 2).map(parseNumber);
  const [min, max] = texts.slice(2).map((text) => (text.trim() === '' ? undefined : parseNumber(text)));
  const isGood = mean > 0 && std >= 0 && texts.length <= 4 && (min ?? 0) <= (max ?? Number.POSITIVE_INFINITY);
  if (!isGood) return null;
  const limits = { ...(min !== undefined && { min }), ...(max !== undefined && { max }) };
  return { kind: kind === 'normal' ? 'normal' : 'log-normal', mean, std, ...limits };
}

const parseNumber = (text: string): number => (/^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : Number.NaN);
