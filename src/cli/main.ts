#!/usr/bin/env node
import * as nodeModules from 'node:module';

// Node keeps what it compiled for the next start, which then takes half as long; so nothing is imported before.
// A Node too old to run this has no such call, and is told so by the command line.
nodeModules.enableCompileCache?.();
const { runCommandLine } = await import('./command-line.ts');
await runCommandLine();
