//! The Mersenne Twister (MT19937, Matsumoto and Nishimura 1998), seeded and drawn from as Python's `random.Random` is.

const SIZE: usize = 624;
const APART: usize = 397;

#[derive(Clone, Debug)]
pub struct Twister {
    words: [u32; SIZE],
    used: usize,
}

impl Twister {
    /// The seed's words of 32 bits, the lowest first, are mixed into a fixed beginning.
    pub fn new(seed: u64) -> Self {
        let key = [seed as u32, (seed >> 32) as u32];
        let key = if key[1] == 0 { &key[..1] } else { &key[..] };
        let mut words = [19_650_218u32; SIZE];
        let stir = |before: u32, by: u32| (before ^ (before >> 30)).wrapping_mul(by);
        for i in 1..SIZE {
            words[i] = stir(words[i - 1], 1_812_433_253).wrapping_add(i as u32);
        }
        let mut i = 0;
        // the first word is that of the last place, whenever a round begins anew
        let mut place = |words: &mut [u32; SIZE]| {
            i += 1;
            if i == SIZE {
                (words[0], i) = (words[SIZE - 1], 1);
            }
            i
        };
        for round in 0..SIZE {
            let (i, j) = (place(&mut words), round % key.len());
            words[i] = (words[i] ^ stir(words[i - 1], 1_664_525)).wrapping_add(key[j]).wrapping_add(j as u32);
        }
        for _ in 1..SIZE {
            let i = place(&mut words);
            words[i] = (words[i] ^ stir(words[i - 1], 1_566_083_941)).wrapping_sub(i as u32);
        }
        words[0] = 1 << 31;
        Twister { words, used: SIZE }
    }

    fn twist(&mut self) {
        for i in 0..SIZE {
            let mixed = (self.words[i] & 0x8000_0000) | (self.words[(i + 1) % SIZE] & 0x7fff_ffff);
            let odd = if mixed & 1 == 1 { 0x9908_b0df } else { 0 };
            self.words[i] = self.words[(i + APART) % SIZE] ^ (mixed >> 1) ^ odd;
        }
        self.used = 0;
    }

    fn word(&mut self) -> u32 {
        if self.used == SIZE {
            self.twist();
        }
        let mut word = self.words[self.used];
        self.used += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    /// Any of 0 to `number` - 1; `number` is at least 1. As many bits as it has are drawn, again and again, until they are below it.
    pub fn below(&mut self, number: usize) -> usize {
        let bits = usize::BITS - number.leading_zeros();
        loop {
            let drawn = (self.word() >> (32 - bits.clamp(1, 32))) as usize;
            if drawn < number {
                return drawn;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Twister;

    #[test]
    fn draws_what_python_draws() {
        let mut dice = Twister::new(0);
        assert_eq!((0..8).map(|_| dice.below(10)).collect::<Vec<_>>(), [6, 6, 0, 4, 8, 7, 6, 4]);
        let mut dice = Twister::new(1 << 40);
        assert_eq!((0..8).map(|_| dice.below(1000)).collect::<Vec<_>>(), [106, 361, 686, 67, 436, 49, 397, 408]);
    }
}
