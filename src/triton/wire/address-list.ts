/**
 * Returns the addresses of servers that serve as one, written as `A,B,C`; one for a single address.
 */
export const splitAddresses = (text: string): readonly string[] =>
  text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
