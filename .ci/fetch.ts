import { modelAnalyzer } from '../bench/analyzer.ts';
import { perfAnalyzer, pythonClients } from '../bench/peers.ts';
import { chartTools } from '../test/support/chart.ts';
import { dynamoPackages, llamaLibrary, smolModel } from '../test/support/language/packages.ts';
import { openvinoPackages } from '../test/support/openvino.ts';
import { realTriton } from '../test/support/real-triton.ts';

/**
 * Fetches what the suite on a real Triton needs, while other tests run. What could not be had, that
 * suite asks for again.
 */
const install = await realTriton();
await perfAnalyzer(install);
await pythonClients(install);
await modelAnalyzer(install);
await openvinoPackages(install);
await smolModel();
await llamaLibrary();
await dynamoPackages();
await chartTools();
