#!/usr/bin/env node
import * as nodeModules from 'node:module';

// As `src/cli/main.ts`: before any import.
nodeModules.enableCompileCache?.();
const { runLab } = await import('./program.ts');
await runLab();
