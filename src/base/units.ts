export const NS_PER_US = 1e3;
export const NS_PER_MS = 1e6;
export const NS_PER_S = 1e9;
export const MS_PER_S = 1e3;
/** A system timer counts milliseconds in 31 bits: a longer one would fire immediately. */
export const LONGEST_TIMER_S = 20 * 24 * 3600;
export const BYTES_PER_MIB = 2 ** 20;

export const nsToMs = (ns: number): number => ns / NS_PER_MS;
export const msToNs = (ms: number): number => ms * NS_PER_MS;
