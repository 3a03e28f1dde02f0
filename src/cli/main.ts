#!/usr/bin/env node
import * as nodeModules from 'node:module';

// Node keeps what it compiled for the next start, which then takes half as long; so nothing is imported before.
// An old Node lacks this call; the command line reports that.
nodeModules.enableCompileCache?.();
const { runCommandLine } = await import('./command-line.ts');
await runCommandLine();
