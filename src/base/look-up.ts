/**
 * Returns the value of a record under a name that a server, a file or a person gave. Every object
 * inherits properties such as `constructor`, which are no values of it.
 */
export const lookUp = <T>(record: { readonly [name: string]: T } | undefined, name: string): T | undefined =>
  record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
