const LOOPBACK = /^(?:\w+:\/\/)?(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?:[:/]|$)/i;

/**
 * True for an address of this machine's loopback interface: a host alone, HOST:PORT or a URL. An
 * IPv6 address with a port is in brackets.
 */
export const isLoopback = (address: string): boolean => address === '::1' || LOOPBACK.test(address);
