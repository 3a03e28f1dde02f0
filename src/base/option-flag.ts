/**
 * Returns the flag of an option on the command line by its name in programs: `--latency-budget`.
 */
export const optionFlag = (name: string): string =>
  `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
