export { findLeaks } from '../../chaos/leaks.js';
