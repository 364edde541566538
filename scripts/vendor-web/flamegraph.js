// The flamegraph chart and the one d3 function that places it.
export { default as flamegraph } from 'd3-flame-graph';
export { select } from 'd3-selection';
