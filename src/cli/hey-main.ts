#!/usr/bin/env node
import * as nodeModules from 'node:module';

// As `main.ts`: before any import.
nodeModules.enableCompileCache?.();
const { runHey } = await import('./hey.ts');
await runHey();
