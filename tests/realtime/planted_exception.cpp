// A bug for check_symbols.sh: an exception.
namespace ocellus {

struct Planted {
  static void create(int value);
};

void Planted::create(int value) {
  if (value < 0) throw value;
}

}  // namespace ocellus
