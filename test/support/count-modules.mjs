// Prints the modules that a process has loaded when it ends: node --import count-modules.mjs PROGRAM.
import { registerHooks } from 'node:module';

const loaded = [];
registerHooks({
  load(url, context, next) {
    if (url.startsWith('file:') && url !== import.meta.url) loaded.push(url);
    return next(url, context);
  },
});
process.on('exit', () => process.stderr.write(JSON.stringify(loaded)));
