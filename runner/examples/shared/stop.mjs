// Stop sequences, which may start in one token and end in another.

/**
 * Yields tokens until one of `stops` occurs. A token that may begin a stop sequence is held back
 * until that is decided. Returns why it ended: `stop`, or the return value of `tokens`.
 * @template {{ text: string }} Token
 * @param {string[]} stops @param {Generator<Token, string>} tokens
 * @returns {Generator<Token, string>}
 */
export function* before(stops, tokens) {
  let held = [];
  let next = tokens.next();
  for (; !next.done; next = tokens.next()) {
    held.push(next.value);
    const text = held.map((one) => one.text).join("");
    const ends = stops.map((stop) => text.indexOf(stop)).filter((end) => end >= 0);
    const stopped = ends.length > 0;
    const end = stopped ? Math.min(...ends) : text.length - overlap(text, stops);
    const [out, rest] = split(held, end);
    yield* out;
    if (stopped) {
      const cut = end - out.reduce((sum, one) => sum + one.text.length, 0);
      if (cut > 0) yield { ...rest[0], text: rest[0].text.slice(0, cut) };
      return "stop";
    }
    held = rest;
  }
  yield* held;
  return next.value;
}

/** The number of characters at the end of the text that may begin a stop sequence. */
function overlap(text, stops) {
  for (let length = text.length; length > 0; length--) {
    const end = text.slice(-length);
    if (stops.some((stop) => stop.startsWith(end))) return length;
  }
  return 0;
}

function split(tokens, end) {
  let left = end;
  let place = 0;
  while (place < tokens.length && tokens[place].text.length <= left) {
    left -= tokens[place].text.length;
    place++;
  }
  return [tokens.slice(0, place), tokens.slice(place)];
}
