// Who has asked, and who has left before the answer: what a test asks the oracle at the end.

export class Tally {
  running = 0;
  /** By what the script of a request calls itself. */
  #marks = new Map();

  /** A request has come. What it returns is told at its end whether it was answered to the last byte. */
  begin(mark) {
    const count = this.of(mark);
    this.#marks.set(mark, count);
    this.running++;
    count.asked++;
    return (answered) => {
      this.running--;
      count[answered ? "answered" : "left"]++;
    };
  }

  of(mark) {
    return this.#marks.get(mark) ?? { asked: 0, answered: 0, left: 0 };
  }
}
