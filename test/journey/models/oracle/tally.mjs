// The numbers of requests that were asked, answered and left, which a test asks the oracle for at its end.

export class Tally {
  running = 0;
  /** Counts by the `mark` in the script of a request. */
  #marks = new Map();

  /**
   * Counts a request as asked. @returns a function to call at its end with whether all bytes of the answer
   * were sent
   */
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
