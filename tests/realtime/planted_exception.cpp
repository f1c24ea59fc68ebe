// What check_symbols.sh must find: an exception.
namespace ocellus {

struct Planted {
  static void create(int value);
};

void Planted::create(int value) {
  if (value < 0) throw value;
}

}  // namespace ocellus
