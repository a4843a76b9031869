"""Reinforcement learning without files: a pole is balanced, and each step trains on a sample of what was seen so far."""
import collections
import math
import random

import small_data
import torch
import witness

Seen = collections.namedtuple("Seen", "state action reward following ended")


class Pole:
    """The cart and pole of Barto, Sutton and Anderson (1983), in Euler steps of 20 ms."""

    def reset(self):
        self.state = [random.uniform(-0.05, 0.05) for _ in range(4)]
        return torch.tensor(self.state)

    def step(self, action):
        x, speed, angle, turning = self.state
        pushed = ((10.0 if action else -10.0) + 0.05 * turning ** 2 * math.sin(angle)) / 1.1
        turns = (9.8 * math.sin(angle) - math.cos(angle) * pushed) / (0.5 * (4 / 3 - 0.1 * math.cos(angle) ** 2 / 1.1))
        moved = pushed - 0.05 * turns * math.cos(angle) / 1.1
        self.state = [x + 0.02 * speed, speed + 0.02 * moved, angle + 0.02 * turning, turning + 0.02 * turns]
        ended = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.21
        return torch.tensor(self.state), 1.0, ended


class Memory:
    def __init__(self, capacity):
        self.seen = collections.deque(maxlen=capacity)

    def push(self, *parts):
        self.seen.append(Seen(*parts))

    def sample(self, size):
        return Seen(*(torch.stack([torch.as_tensor(part) for part in parts]) for parts in zip(*random.sample(self.seen, size))))


def network():
    return torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2))


def main():
    witness.seed(3)
    policy, target = network(), network()
    target.load_state_dict(policy.state_dict())
    optimizer, memory, pole = torch.optim.AdamW(policy.parameters(), 1e-3), Memory(2000), Pole()
    state, lengths, length = pole.reset(), [], 0
    for number in range(1500 * small_data.SCALE):
        with torch.no_grad():
            greedy = int(policy(state).argmax())
        action = random.randrange(2) if random.random() < max(0.05, 1 - number / 800) else greedy
        following, reward, ended = pole.step(action)
        memory.push(state, action, reward, following, ended)
        length += 1
        state = following
        if ended:
            lengths.append(length)
            state, length = pole.reset(), 0
        if len(memory.seen) < 100:
            continue
        batch = memory.sample(32)
        witness.batch(tuple(batch))
        with torch.no_grad():
            best = target(batch.following).amax(1) * ~batch.ended
        value = policy(batch.state).gather(1, batch.action[:, None])[:, 0]
        loss = torch.nn.functional.smooth_l1_loss(value, batch.reward + 0.95 * best)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if number % 50 == 0:
            target.load_state_dict(policy.state_dict())
    print("balanced for", lengths[-5:])
    torch.save(policy.state_dict(), "policy.pt")
    witness.weights(policy)


if __name__ == "__main__":
    main()
