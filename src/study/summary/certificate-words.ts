import type { Certificate } from '../records/certificate-schema.ts';

/** A smaller gain counts as none. */
const MIN_GAIN = 0.0005;

/** Returns a certificate as a sentence without an end. */
export function describeCertificate({ confidence, gain, reason, configs }: Certificate): string {
  if (gain === null) return `not known: ${reason}`;
  const better = gain < MIN_GAIN ? 'better' : `more than ${formatPercent(gain)} better`;
  return `none of the ${configs} configs of the space is ${better} (${formatPercent(confidence)} sure)`;
}

const formatPercent = (fraction: number): string => `${Number((100 * fraction).toPrecision(2))} %`;
