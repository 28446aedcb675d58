import fc from 'fast-check';
import { testSeed } from './seed.js';

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: testSeed() });
