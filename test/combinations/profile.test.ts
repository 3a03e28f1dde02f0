import { combinationsSuite } from './suite.ts';

combinationsSuite('profile');
