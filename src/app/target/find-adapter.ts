import type { AdapterDefinition } from '#adapter/definition.ts';
import { hasFunctions, loadExport } from '../study/load-module.ts';

/**
 * Returns the adapter that the module at a path exports as `adapter` or by default. Errors:
 * INPUT_INVALID.
 */
export const findAdapter = (path: string): Promise<AdapterDefinition> =>
  loadExport(path, { name: 'adapter', hint, isValid });

const hint = 'export const adapter = settingsAdapter({ … }) (docs/extending.md)';

const isValid = (value: unknown): value is AdapterDefinition => hasFunctions(value, 'open');
