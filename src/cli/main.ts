#!/usr/bin/env node
import * as nodeModules from 'node:module';

// Node caches compiled code for the next start, which then takes half as long, so this must come
// before any import. An old Node lacks this call; the command line reports that.
nodeModules.enableCompileCache?.();
const { runCommandLine } = await import('./command-line.ts');
await runCommandLine();
