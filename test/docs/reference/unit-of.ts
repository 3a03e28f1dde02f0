/** Units by the last word of a field's name, as the code names its fields. */
const units: Readonly<Record<string, string>> = {
  Ns: 'ns',
  Us: 'µs',
  Ms: 'ms',
  S: 's',
  Seconds: 's',
  PerSecond: 'per second',
  Percent: '%',
  MiB: 'MiB',
  GiB: 'GiB',
  W: 'W',
};
const unitAtEnd = new RegExp(`^(?:.*[a-z0-9])?(${Object.keys(units).join('|')})$`);

/**
 * Returns the unit that a field's name states: `ms` for `latencyBudgetMs`; undefined for a name
 * without one.
 */
export function unitOf(field: string): string | undefined {
  const [, end] = unitAtEnd.exec(`${field.charAt(0).toUpperCase()}${field.slice(1)}`) ?? [];
  return end === undefined ? undefined : units[end];
}
