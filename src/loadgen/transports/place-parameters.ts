import type { RequestParameter, SharedPlace } from '../types.ts';

/**
 * Returns the parameters that place a tensor in shared memory: names of KServe v2's extension, the
 * same over both protocols.
 */
export const placeParameters = ({ region, offset, byteSize }: SharedPlace): readonly RequestParameter[] => [
  { name: 'shared_memory_region', type: 'string', value: region },
  { name: 'shared_memory_byte_size', type: 'int', value: byteSize },
  { name: 'shared_memory_offset', type: 'int', value: offset },
];
