#!/usr/bin/env node
import { enableCompileCache } from 'node:module';

// Node keeps what it compiled for the next start, which then takes half as long; so nothing is imported before.
enableCompileCache();
const { runCommandLine } = await import('./command-line.ts');
await runCommandLine();
