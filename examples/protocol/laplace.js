// A Laplace histogram for RefuteDP's command protocol, in JavaScript.
//
//   refutedp check --command "node laplace.js" --epsilon 0.5 --adjacency one-differs
//   refutedp check --command "node laplace.js --bug" --epsilon 0.5 --adjacency one-differs
'use strict';

const BATCH = 100;
const bug = process.argv.includes('--bug');

// sfc32: Math.random() takes no seed.
function generator(seed) {
  let a = seed % 4294967296 | 0, b = Math.floor(seed / 4294967296) | 0, c = 0x9e3779b9 | 0, counter = 1;
  const bits = () => {
    const t = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + t | 0;
    return t >>> 0;
  };
  for (let i = 0; i < 15; i++) bits();
  return () => ((bits() >>> 5) * 67108864 + (bits() >>> 6) + 0.5) / 9007199254740992;
}

// The last digits of a float tell which numbers were added: round them away.
const onGrid = (value) => Math.round(value * 1024) / 1024;

function fromWire(value) {
  if (value === null || typeof value !== 'object') return value;
  if ('$int' in value) return Number(value.$int);
  return { nan: NaN, inf: Infinity, '-inf': -Infinity }[value.$float];
}

function toWire(value) {
  if (Number.isFinite(value)) return value;
  return { $float: Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf' };
}

function answer({ id, data, arguments: { epsilon }, seed, count }) {
  if (!Array.isArray(data) || epsilon === undefined) return [{ id, failure: 'the request needs data and epsilon' }];
  const uniform = generator(seed);
  const scale = (bug ? 0.5 : 1) / fromWire(epsilon);  // the bug: half the noise
  const queries = data.map(fromWire);
  const run = () => queries.map((query) => toWire(onGrid(query + scale * Math.log(uniform() / uniform()))));
  const lines = [];
  for (let left = count; left > 0; left -= BATCH) {
    lines.push({ id, outputs: Array.from({ length: Math.min(left, BATCH) }, run) });
  }
  return [...lines, { id, done: true }];
}

require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  process.stdout.write(answer(JSON.parse(line)).map((part) => JSON.stringify(part) + '\n').join(''));
});
