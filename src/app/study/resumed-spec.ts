import { TrituneError } from '#base/errors.ts';
import { optionFlag } from '#base/option-flag.ts';
import { changedSpec } from '#spec/spec-of-options.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import type { FlatStudyOptions } from '#spec/tune-options.ts';
import { serverAddresses, tlsInAddress } from '../server/address-text.ts';
import {
  flagsAgain,
  headerNames,
  isSilent,
  secretOptionNames,
  withHeadersAgain,
  withSecretsAgain,
} from '../server/headers.ts';
import { tlsNames } from '../server/tls.ts';

/** Options that may change when a study is resumed: the address, when to stop, what to show. */
const resumable: readonly string[] = [
  'resume',
  'url',
  'controlUrl',
  'metricsUrl',
  'launch',
  // Only to give secrets again, which the journal does not hold.
  ...secretOptionNames,
  ...tlsNames,
  'leastGain',
  'certify',
  'maxTrials',
  'timeBudget',
  'allowForeignTraffic',
  'protect',
  'loadTimeout',
  'firstRequestTimeout',
  'maxOutage',
  'trustRun',
  'ui',
  'verbose',
  // The journal does not hold their values; the names must stay the same.
  ...headerNames,
];

/**
 * Returns the spec of a resumed study: the one in its journal, with new values for the named
 * options, and with headers that can be sent again. Errors: USAGE for an option that a resumed
 * study cannot change, and for other headers than before.
 */
export function resumedSpec(kept: StudySpec, options: Partial<FlatStudyOptions>, named: Iterable<string>): StudySpec {
  const names = [...named];
  checkResumable(names);
  const isHeader = (name: string): boolean => (headerNames as readonly string[]).includes(name);
  checkSameServer(kept, options);
  const server = withSecretsAgain(withHeadersAgain(kept.server, options), options);
  return changedSpec(
    { ...kept, server },
    options,
    names.filter((name) => !isHeader(name) && !(secretOptionNames as readonly string[]).includes(name)),
  );
}

/**
 * The headers in a journal are for the server that it names. Errors: USAGE if they would go to
 * another one.
 */
function checkSameServer({ server: kept }: StudySpec, options: Partial<FlatStudyOptions>): void {
  const headers = flagsAgain(kept, {});
  if (isSilent(headers) || !isSilent(options)) return;
  const { url = kept.url, controlUrl = kept.controlUrl } = options;
  const listPlaces = (urls: Pick<StudySpec['server'], 'url' | 'controlUrl'>): string =>
    [urls.url ?? 'localhost', urls.controlUrl]
      .map((each) => (each === undefined ? '' : `${tlsInAddress(each)} ${serverAddresses(each, 'http')}`))
      .join();
  if (listPlaces(kept) === listPlaces({ url, controlUrl })) return;
  throw new TrituneError(
    'USAGE',
    `the study names its headers for ${kept.url ?? 'localhost'}, not for ${controlUrl ?? url}`,
    'name them again for this address, such as with --token-env NAME',
  );
}

/** Errors: USAGE for options that a resumed study cannot change. */
export function checkResumable(named: Iterable<string>): void {
  const fixed = [...named].filter((name) => !resumable.includes(name));
  if (fixed.length === 0) return;
  throw new TrituneError(
    'USAGE',
    `a resumed study cannot change its ${fixed.map(optionFlag).join(', ')}`,
    `leave that out, or start a new study; --resume accepts ${resumable.slice(1).map(optionFlag).join(', ')}`,
  );
}
