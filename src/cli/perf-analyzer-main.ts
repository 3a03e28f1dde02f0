#!/usr/bin/env node
import * as nodeModules from 'node:module';

// As `main.ts`: before any import.
nodeModules.enableCompileCache?.();
const { runPerfAnalyzer } = await import('./perf-analyzer.ts');
await runPerfAnalyzer();
