// A layered layout of a graph without cycles, from top to bottom: ranks by the longest path, order by the mean of the
// neighbours, and columns by least squares under the distances that boxes need. Linear but for the sorting, so that a
// thousand nodes take some hundredths of a second.

/** Edges that span more ranks are drawn straight, without places of their own on the ranks between. */
const LONGEST_BENT = 12;
const SWEEPS = 6;

/**
 * nodes: [{width, height}], edges: [[from, to]] by number. Gives nodes their x and y (of the middle and of the top);
 * returns {width, height, paths}: a list of points for each edge.
 */
function layoutGraph(nodes, edges, gap = { x: 22, y: 26 }) {
  const ranks = rankOf(nodes.length, edges);
  const places = nodes.map((node, index) => ({ node, rank: ranks[index], width: node.width, up: [], down: [] }));
  const bends = edges.map(([from, to]) => connect(places, from, to, ranks));
  const rows = [];
  for (const place of places) (rows[place.rank] ||= []).push(place);
  order(rows);
  columns(rows, gap.x);
  const height = stack(rows, gap.y);
  const left = Math.min(...places.map((place) => place.x - place.width / 2), 0);
  let width = 0;
  for (const place of places) {
    place.x -= left;
    width = Math.max(width, place.x + place.width / 2);
    if (place.node) Object.assign(place.node, { x: place.x, y: place.y });
  }
  const paths = edges.map(([from, to], index) => pathOf(places, from, to, bends[index]));
  return { width, height, paths };
}

/** The longest path from a source; sources stand right above their first reader. */
function rankOf(count, edges) {
  const next = Array.from({ length: count }, () => []), waiting = new Array(count).fill(0);
  for (const [from, to] of edges) { next[from].push(to); ++waiting[to]; }
  const sources = waiting.map((number, index) => (number === 0 ? index : -1)).filter((index) => index >= 0);
  const ranks = new Array(count).fill(0), queue = [...sources];
  for (let at = 0; at < queue.length; ++at)
    for (const to of next[queue[at]]) {
      ranks[to] = Math.max(ranks[to], ranks[queue[at]] + 1);
      if (--waiting[to] === 0) queue.push(to);
    }
  for (const source of sources)
    if (next[source].length > 0) ranks[source] = Math.max(0, Math.min(...next[source].map((to) => ranks[to])) - 1);
  return ranks;
}

/** Neighbours know each other; a long edge gets a place on each rank between. */
function connect(places, from, to, ranks) {
  const bends = [], length = ranks[to] - ranks[from];
  let last = places[from];
  const join = (place) => { last.down.push(place); place.up.push(last); last = place; };
  if (length <= LONGEST_BENT)
    for (let rank = ranks[from] + 1; rank < ranks[to]; ++rank) {
      const bend = { node: null, rank, width: 6, up: [], down: [] };
      places.push(bend);
      bends.push(bend);
      join(bend);
    }
  if (length <= LONGEST_BENT) join(places[to]);
  return bends;
}

const mean = (list, of) => list.reduce((total, entry) => total + of(entry), 0) / list.length;

/** Down and up in turn, moves each rank: its places wish to be at the mean of their neighbours on the rank before. */
function sweep(rows, of, move) {
  for (let turn = 0; turn < SWEEPS; ++turn) {
    const down = turn % 2 === 0;
    for (const row of down ? rows : [...rows].reverse()) {
      if (!row) continue;
      for (const place of row) {
        const near = down ? place.up : place.down;
        place.wish = near.length > 0 ? mean(near, of) : of(place);
      }
      move(row);
    }
  }
}

/** The order of places on each rank. */
function order(rows) {
  const number = (row) => row.forEach((place, index) => { place.index = index; });
  rows.forEach(number);
  sweep(rows, (place) => place.index, (row) => {
    row.sort((a, b) => a.wish - b.wish || a.index - b.index);
    number(row);
  });
}

/** Columns: each rank as near to its neighbours as its boxes let it. */
function columns(rows, gap) {
  for (const row of rows) {
    const offsets = offsetsOf(row || [], gap), middle = (offsets[offsets.length - 1] || 0) / 2;
    (row || []).forEach((place, index) => { place.x = offsets[index] - middle; });
  }
  sweep(rows, (place) => place.x, (row) => settle(row, gap));
}

/** How far the places of a rank lie from its first at least; bent edges need less room than boxes. */
function offsetsOf(row, gap) {
  const offsets = [0];
  for (let i = 1; i < row.length; ++i) {
    const room = row[i - 1].node && row[i].node ? gap : gap / 3;
    offsets.push(offsets[i - 1] + (row[i - 1].width + row[i].width) / 2 + room);
  }
  return offsets;
}

/** The places nearest to their wishes, in least squares, that keep their order and distances: pooled violators. */
function settle(row, gap) {
  const offsets = offsetsOf(row, gap);
  const pools = [];
  row.forEach((place, index) => {
    pools.push({ sum: place.wish - offsets[index], count: 1 });
    while (pools.length > 1) {
      const last = pools[pools.length - 1], before = pools[pools.length - 2];
      if (before.sum / before.count <= last.sum / last.count) break;
      pools.pop();
      before.sum += last.sum;
      before.count += last.count;
    }
  });
  let index = 0;
  for (const pool of pools)
    for (let i = 0; i < pool.count; ++i, ++index) row[index].x = pool.sum / pool.count + offsets[index];
}

/** Ranks below each other, as high as their highest box. Returns the height of all. */
function stack(rows, gap) {
  let y = 0;
  for (const row of rows) {
    if (!row) continue;
    const height = Math.max(0, ...row.map((place) => (place.node ? place.node.height : 0)));
    for (const place of row) {
      place.y = y;
      place.height = place.node ? place.node.height : height;
    }
    y += height + gap;
  }
  return y;
}

function pathOf(places, from, to, bends) {
  const start = places[from], end = places[to];
  const points = [[start.x, start.y + start.node.height]];
  for (const bend of bends) points.push([bend.x, bend.y + bend.height / 2]);
  points.push([end.x, end.y]);
  return points;
}
